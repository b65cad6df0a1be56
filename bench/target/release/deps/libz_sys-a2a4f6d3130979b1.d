/work/main/bench/target/release/deps/libz_sys-a2a4f6d3130979b1.d: /root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/libz-sys-1.1.31/src/lib.rs

/work/main/bench/target/release/deps/liblibz_sys-a2a4f6d3130979b1.rlib: /root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/libz-sys-1.1.31/src/lib.rs

/work/main/bench/target/release/deps/liblibz_sys-a2a4f6d3130979b1.rmeta: /root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/libz-sys-1.1.31/src/lib.rs

/root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/libz-sys-1.1.31/src/lib.rs:
