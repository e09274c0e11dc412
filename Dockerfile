# The driver's image: one stage builds, the other has only what the driver needs at run time. The
# packages and the reasons for them are in deploy/image-packages; deploy/image-root verifies the list.
FROM debian:12-slim AS build
COPY deploy/image-packages /tmp/image-packages
RUN apt-get update && apt-get install -y --no-install-recommends \
        $(awk '$1 == "build" {print $2}' /tmp/image-packages) \
    && rm -rf /var/lib/apt/lists/*
COPY . /src
ARG COMMIT=unknown
RUN make -C /src -j"$(nproc)" BUILD=/build COMMIT="$COMMIT" all \
    && strip /build/cephcsi /build/cephzone

FROM debian:12-slim
ARG WITH_FUSE=0
COPY deploy/image-packages /usr/share/cephzone/image-packages
RUN apt-get update && apt-get install -y --no-install-recommends \
        $(awk -v fuse="$WITH_FUSE" '$1 == "run" || ($1 == "fuse" && fuse == 1) {print $2}' \
            /usr/share/cephzone/image-packages) \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/*
COPY --from=build /build/cephcsi /build/cephzone /usr/local/bin/
RUN ln -s cephzone /usr/local/bin/kubectl-cephzone
# operators pass a relative --log_file
WORKDIR /
# Root, for nodes; the controller's manifests set another user. Deployers set arguments, not the
# command. cephcsi starts programs; tini reaps the processes that they leave behind, also
# where it is not the first process (hostPID).
ENTRYPOINT ["/usr/bin/tini", "-s", "--", "/usr/local/bin/cephcsi"]
