# shellcheck shell=bash
# How Go programs of the tests are built; sourced. The harness has the same settings as the
# tools, so that it shares their compiled packages.

export CGO_ENABLED=0 GOTOOLCHAIN=local GOFLAGS=
# shellcheck disable=SC2034 # used by those who source this
# Nobody debugs them: without symbols they are compiled and linked faster.
GO_BUILD=(-mod=readonly -buildvcs=false -trimpath -tags=grpcnotrace "-ldflags=-s -w" -gcflags=all=-dwarf=0)
