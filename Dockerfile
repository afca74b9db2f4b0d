# The operator as one file on a Node without shell and package manager.
#   docker build -t localhost/coder-k8s:0.1.0 .
# Without access to these registries, give mirrors with --build-arg.
ARG NODE_IMAGE=docker.io/library/node:24-slim
ARG BASE_IMAGE=gcr.io/distroless/nodejs24-debian13:nonroot

# The bundle is the same for every platform, so it is made on the builder's own.
FROM --platform=$BUILDPLATFORM ${NODE_IMAGE} AS build
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
COPY packages/kube-controller-runtime/package.json packages/kube-controller-runtime/
# The bundler needs no install scripts; those there are fetch what only tests use.
RUN npm ci --ignore-scripts
COPY tools/build tools/build
COPY packages/kube-controller-runtime/src packages/kube-controller-runtime/src
COPY src src
RUN node tools/build/main.ts

FROM ${BASE_IMAGE}
LABEL org.opencontainers.image.title="coder-k8s" \
      org.opencontainers.image.description="Kubernetes operator for Coder: control planes, external provisioners and workspace proxies" \
      org.opencontainers.image.source="https://localhost/coder-k8s" \
      org.opencontainers.image.licenses="Apache-2.0"
WORKDIR /app
COPY LICENSE ./
COPY --from=build /src/dist/coder-k8s.mjs ./
# By number, so that Kubernetes can see that it is not root.
USER 65532:65532
EXPOSE 8080 8081
ENTRYPOINT ["/nodejs/bin/node", "--min-semi-space-size=4", "--max-semi-space-size=4", "/app/coder-k8s.mjs"]
CMD ["controller"]
