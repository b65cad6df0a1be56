/work/main/bench/target/release/deps/libgit2_sys-81f6247ec5446366.d: /root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/libgit2-sys-0.18.8+1.9.7/lib.rs

/work/main/bench/target/release/deps/liblibgit2_sys-81f6247ec5446366.rlib: /root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/libgit2-sys-0.18.8+1.9.7/lib.rs

/work/main/bench/target/release/deps/liblibgit2_sys-81f6247ec5446366.rmeta: /root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/libgit2-sys-0.18.8+1.9.7/lib.rs

/root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/libgit2-sys-0.18.8+1.9.7/lib.rs:
