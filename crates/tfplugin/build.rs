//! Generates the wire types from `proto/` with a protobuf compiler in Rust, so that no `protoc` need be installed.
//!
//! The generated code is private to the crate (`src/wire.rs`). The client half is generated for the tests' host
//! (`src/testing/`); without the `testing` feature nothing refers to it and the linker drops it.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = "../../proto";
    println!("cargo:rerun-if-changed={folder}");
    let descriptors = protox::compile(["tfplugin6.proto", "grpc_controller.proto"], [folder])?;
    tonic_prost_build::configure()
        .build_transport(false)
        .generate_default_stubs(true)
        .compile_fds(descriptors)?;
    Ok(())
}
