# The driver's image: one stage builds, the other has only what the driver needs at run time.
# 'make image' builds it, runs it, and describes it; docs/install.md has the arguments.
#
# RELEASE: the Debian release, which decides the version of the Ceph libraries. Keys of type aes256k
# need 20.2.4, as forky has it. BASE: another image of a Debian release.
ARG RELEASE=forky
ARG BASE=docker.io/library/debian:${RELEASE}-slim

FROM ${BASE} AS build
# how to reach Debian's archive, where that takes more than the base image knows
ARG APT_CONFIG=/run/secrets/apt.conf
ARG DEBIAN_FRONTEND=noninteractive
COPY tests/packages /tmp/packages
RUN --mount=type=secret,id=apt.conf \
    apt-get update && apt-get install -y --no-install-recommends \
        $(awk '$1 == "build" {print $2}' /tmp/packages)
COPY . /src
ARG COMMIT=unknown
RUN make -C /src -j"$(nproc)" BUILD=/build COMMIT="$COMMIT" all \
    && strip /build/cephcsi /build/cephzone
# The packages of the image: those of the list, and those of the libraries of both programs, whose
# names differ between releases.
ARG WITH_FUSE=0
RUN . /etc/os-release \
    && objdump -p /build/cephcsi /build/cephzone >/tmp/linked \
    && dpkg-query -S $(awk '$1 == "NEEDED" {print "*-linux-gnu/" $2}' /tmp/linked) >/tmp/owners \
    && awk -v fuse="$WITH_FUSE" -v release="$VERSION_CODENAME" \
        '($1 == "run" || ($1 == "fuse" && fuse == 1)) && ($3 == "" || $3 == release) {print $2}' \
        /src/deploy/image/packages >/tmp/listed \
    && cut -d: -f1 /tmp/owners | sort -u - /tmp/listed >/build/packages

FROM ${BASE}
ARG APT_CONFIG=/run/secrets/apt.conf
ARG DEBIAN_FRONTEND=noninteractive
# for the dates in files that packages write
ARG SOURCE_DATE_EPOCH
COPY --from=build /build/packages /usr/share/cephzone/packages
# What is removed is of no use in an image, and differs from build to build.
RUN --mount=type=secret,id=apt.conf \
    apt-get update && apt-get install -y --no-install-recommends $(cat /usr/share/cephzone/packages) \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/cache/debconf/* /var/cache/ldconfig/* \
        /var/lib/dpkg/*-old /var/log/* /etc/*- \
    && find /usr/lib/python3* -depth -name __pycache__ -exec rm -r {} +
COPY --from=build /build/cephcsi /build/cephzone /usr/local/bin/
RUN ln -s cephzone /usr/local/bin/kubectl-cephzone
# operators pass a relative --log_file
WORKDIR /
# Root, for nodes; the controller's manifests set another user. Deployers set arguments, not the
# command. cephcsi starts programs; tini reaps the processes that they leave behind, also
# where it is not the first process (hostPID).
ENTRYPOINT ["/usr/bin/tini", "-s", "--", "/usr/local/bin/cephcsi"]
