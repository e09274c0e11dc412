# The driver's image: built in one stage, and in the other nothing but what it runs with.
FROM debian:12-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends \
        gcc make git ca-certificates libc6-dev libgrpc-dev libprotobuf-c-dev protobuf-c-compiler \
        protobuf-compiler libprotobuf-dev librados-dev librbd-dev libjansson-dev \
        libmicrohttpd-dev uuid-dev libcurl4-openssl-dev libmount-dev libblkid-dev libyaml-dev \
    && rm -rf /var/lib/apt/lists/*
COPY . /src
RUN make -C /src -j"$(nproc)" && strip /src/build/cephcsi /src/build/cephzone

FROM debian:12-slim
RUN apt-get update && apt-get install -y --no-install-recommends \
        libgrpc29 libprotobuf-c1 librados2 librbd1 libjansson4 libmicrohttpd12 libuuid1 tini \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /src/build/cephcsi /usr/local/bin/cephcsi
COPY --from=build /src/build/cephzone /usr/local/bin/cephzone
RUN ln -s cephzone /usr/local/bin/kubectl-cephzone
# cephcsi starts programs; tini reaps what they leave behind
ENTRYPOINT ["/usr/bin/tini", "--", "/usr/local/bin/cephcsi"]
