# What flake.nix makes of a nixpkgs that has only what it uses, for packaging/check: nothing is fetched and nothing is built.
# Answers the arguments of the package, so that a word that is missing or misspelt here or there is an error.
{ flake }:
let
  lib = {
    genAttrs = names: make: builtins.listToAttrs (map (name: { inherit name; value = make name; }) names);
    licenses = { mit = "MIT"; asl20 = "Apache-2.0"; };
    platforms.linux = [ "x86_64-linux" "aarch64-linux" ];
  };
  pkgs = {
    inherit lib;
    rustPlatform.buildRustPackage = arguments: arguments;
    mkShell = arguments: arguments;
    installShellFiles = "installShellFiles";
    cargo = "cargo";
    clippy = "clippy";
    rustc = "rustc";
    rustfmt = "rustfmt";
    git = "git";
    gcc = "gcc";
  };
  nixpkgs = {
    inherit lib;
    legacyPackages = { x86_64-linux = pkgs; aarch64-linux = pkgs; };
  };
  self = {
    outPath = toString flake;
    rev = "0123456789abcdef0123456789abcdef01234567";
    lastModifiedDate = "20260228153300";
  };
  outputs = (import (flake + "/flake.nix")).outputs { inherit self nixpkgs; };
  made = outputs.packages.x86_64-linux.default;
in
builtins.deepSeq [ outputs.packages outputs.devShells ] {
  inherit (made) pname version TW_BUILD_COMMIT;
  lockIsThere = builtins.pathExists made.cargoLock.lockFile;
  program = made.meta.mainProgram;
}
