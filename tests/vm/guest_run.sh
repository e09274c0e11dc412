#!/bin/bash
# Runs the script that the host sends, as a CGI program: prints its output, then its exit status.
export PATH=/usr/sbin:/usr/bin HOME=/root
cd /root || exit
printf 'Content-Type: text/plain\r\n\r\n'
script=$(mktemp /tmp/script-XXXXXX)
head -c "$CONTENT_LENGTH" >"$script"
bash "$script" </dev/null 2>&1
printf 'vm: exit status %d\n' $?
rm "$script"
