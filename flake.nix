# tw for Nix: `nix run`, `nix profile install`, and `nix develop` for a shell to work on it.
{
  description = "Time travel for working trees that people and coding agents share";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs = { self, nixpkgs }:
    let
      manifest = (builtins.fromTOML (builtins.readFile ./Cargo.toml)).package;
      each = make: nixpkgs.lib.genAttrs [ "x86_64-linux" "aarch64-linux" ]
        (system: make nixpkgs.legacyPackages.${system});
      date = self.lastModifiedDate or "19700101";
      day = "${builtins.substring 0 4 date}-${builtins.substring 4 2 date}-${builtins.substring 6 2 date}";
    in
    {
      packages = each (pkgs: {
        default = pkgs.rustPlatform.buildRustPackage {
          pname = manifest.name;
          version = manifest.version;
          src = self;
          cargoLock.lockFile = ./Cargo.lock;
          buildType = "dist";
          # The suite needs more than a sandbox has; it runs before a release (.ci/run).
          doCheck = false;
          nativeBuildInputs = [ pkgs.installShellFiles ];
          TW_BUILD_COMMIT = "${builtins.substring 0 10 (self.rev or self.dirtyRev or "0000000000")} ${day}";
          postInstall = ''
            installManPage man/*.1
            installShellCompletion --cmd tw --bash completions/tw.bash --fish completions/tw.fish --zsh completions/_tw
          '';
          meta = {
            description = manifest.description;
            license = with pkgs.lib.licenses; [ mit asl20 ];
            mainProgram = "tw";
            platforms = pkgs.lib.platforms.linux;
          };
        };
      });

      devShells = each (pkgs: {
        default = pkgs.mkShell {
          packages = with pkgs; [ cargo clippy rustc rustfmt git gcc ];
        };
      });
    };
}
