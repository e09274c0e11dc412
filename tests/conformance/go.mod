// Only marks the folder: versions and checksums are those of tests/e2e, see run.
module cephzone/tests/conformance

go 1.26.0
