/work/main/bench/target/release/deps/timewarp_bench-9649e79c3d1656ac.d: src/main.rs src/case.rs src/libgit2.rs src/measure.rs src/report.rs src/route.rs src/tree.rs

/work/main/bench/target/release/deps/timewarp_bench-9649e79c3d1656ac: src/main.rs src/case.rs src/libgit2.rs src/measure.rs src/report.rs src/route.rs src/tree.rs

src/main.rs:
src/case.rs:
src/libgit2.rs:
src/measure.rs:
src/report.rs:
src/route.rs:
src/tree.rs:
