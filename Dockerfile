# A static binary and nothing else: no shell, no libraries, no root.
FROM rust:1-alpine AS build
WORKDIR /sizegate
COPY . .
# The target of this image is musl, which is linked statically.
RUN cargo build --release --locked --bin sizegate

FROM scratch
COPY --from=build /sizegate/target/release/sizegate /sizegate
USER 65532:65532
ENTRYPOINT ["/sizegate"]
