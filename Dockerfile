# A static program and the roots of trust: no shell, no libraries, no root, nothing that is written.
#
# BUILD_IMAGE may be any image with Rust 1.88 and a C compiler, be its C library musl or glibc.
ARG BUILD_IMAGE=docker.io/library/rust:1-alpine

FROM ${BUILD_IMAGE} AS build
# The cryptography of TLS, aws-lc, is written in C and looks for the headers of Linux.
RUN if command -v apk >/dev/null; then \
        apk add --no-cache ca-certificates gcc linux-headers musl-dev; \
    fi
WORKDIR /sizegate
COPY . .
# Static is the program alone: with a target named, what runs during the build is not.
ENV RUSTFLAGS="-C target-feature=+crt-static"
RUN target=$(rustc --print host-tuple) \
    && cargo build --release --locked --bin sizegate --target "$target" \
    && install "target/$target/release/sizegate" /usr/local/bin/sizegate

FROM scratch
# What --upstream-tls trusts if it is told nothing else.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /usr/local/bin/sizegate /sizegate
# By number: Kubernetes must see that it is not root.
USER 65532:65532
ENTRYPOINT ["/sizegate"]
