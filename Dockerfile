# Two images from one build: --target dashboard (the product) and --target pipeline (the reference pipeline of the demo).
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=$VERSION" -o /out/ ./cmd/... \
 && mkdir -p /out/lib

FROM gcr.io/distroless/static-debian12:nonroot AS pipeline
COPY --from=build /out/pipeline /usr/local/bin/pipeline
# Its database is here, unless --database says otherwise.
COPY --from=build --chown=nonroot:nonroot /out/lib /var/lib/pipeline
VOLUME /var/lib/pipeline
WORKDIR /var/lib/pipeline
USER nonroot
ENTRYPOINT ["/usr/local/bin/pipeline"]

FROM gcr.io/distroless/static-debian12:nonroot AS dashboard
COPY --from=build /out/dashboard /usr/local/bin/dashboard
# The store is the only copy of a drained message: it belongs on a volume. A new one gets this folder's owner.
COPY --from=build --chown=nonroot:nonroot /out/lib /var/lib/parkade
VOLUME /var/lib/parkade
WORKDIR /var/lib/parkade
USER nonroot
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=10s CMD ["dashboard", "healthcheck"]
ENTRYPOINT ["dashboard"]
