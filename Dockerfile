# Quiver's image: one for every role (embedded, coordinator, node) and every x86-64 or arm64 machine. The addons choose
# their inner loops at run time, so nothing here depends on the machine that builds.
#
#   docker build --tag quiver .
#
# Both base images are of one Debian release: the addons use the shared libraries of the one they are built on.
ARG NODE_IMAGE=docker.io/library/node:24.21.0-bookworm-slim
ARG DEBIAN_IMAGE=docker.io/library/debian:bookworm-slim

FROM ${NODE_IMAGE} AS build
RUN apt-get update \
    && apt-get install --yes --no-install-recommends g++ libfaiss-dev libopenblas-dev liblapack-dev librocksdb-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /opt/quiver
# The packages come before the sources, so that a change of the sources leaves them in the build's cache.
COPY package.json package-lock.json .npmrc ./
COPY scripts/ scripts/
RUN node scripts/setup.mjs packages
COPY tsconfig.json tsconfig.build.json tsconfig.library.json ./
COPY proto/ proto/
COPY shared/ shared/
COPY cli/ cli/
COPY node/ node/
COPY coordinator/ coordinator/
COPY dashboard/ dashboard/
COPY embedded/ embedded/
COPY clients/typescript/src/ clients/typescript/src/
RUN node scripts/setup.mjs
RUN npm prune --omit=dev --ignore-scripts && node scripts/make/image-tree.mjs /opt/image && node scripts/make/sbom.mjs npm /opt/image/sbom.json

FROM ${DEBIAN_IMAGE}
# FAISS is inside its addon; OpenBLAS and OpenMP are what it needs besides the C++ library. The other needs RocksDB.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates libgomp1 libopenblas0-pthread librocksdb7.8 libstdc++6 tini \
    && rm -rf /var/lib/apt/lists/* \
    && groupadd --gid 10001 quiver \
    && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin quiver \
    && install --directory --owner=10001 --group=10001 --mode=0750 /data
COPY --from=build /usr/local/bin/node /usr/local/bin/node
COPY --from=build /opt/image/ /opt/quiver/
# What is in the image, for who has to know: npm's packages from the build stage, Debian's from here.
RUN ln -s /opt/quiver/scripts/quiver.cjs /usr/local/bin/quiver \
    && node /opt/quiver/scripts/make/sbom.mjs debian /opt/quiver/sbom.json

ARG VERSION=0.2.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Quiver" \
      org.opencontainers.image.description="A vector collection service: search, filters, hybrid search and documents over a REST API, in one process or as a replicated cluster." \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
# OpenBLAS would start a thread for each processor of the machine, whatever the container's share; FAISS uses it for nothing that lasts here.
ENV NODE_ENV=production \
    DATA_DIR=/data \
    OPENBLAS_NUM_THREADS=1
WORKDIR /opt/quiver
USER 10001:10001
# The one folder that is written to; the root file system may be read-only.
VOLUME ["/data"]
# API, gRPC between members, operations of a coordinator and of a node.
EXPOSE 8000 7100 9090 9091
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 CMD ["node", "/opt/quiver/scripts/healthcheck.cjs", "livez"]
# tini passes signals on, SIGTERM among them, and collects what is left of ended processes.
ENTRYPOINT ["tini", "--", "quiver"]
CMD ["embedded"]
