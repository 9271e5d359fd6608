{
  description = "vplan: a verify-contract engine";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixpkgs-unstable";

  outputs =
    { self, nixpkgs }:
    let
      # Containment of whole process trees needs Linux; vplan is built for nothing else yet.
      systems = [ "x86_64-linux" "aarch64-linux" ];
      each = make: nixpkgs.lib.genAttrs systems (system: make nixpkgs.legacyPackages.${system});
      cargo = builtins.fromTOML (builtins.readFile ./Cargo.toml);
      manifest = cargo.package;
      vplan =
        pkgs:
        pkgs.rustPlatform.buildRustPackage {
          pname = manifest.name;
          version = cargo.workspace.package.version;
          buildType = "dist";
          src = self;
          cargoLock.lockFile = ./Cargo.lock;
          # The tests start the tools of an ordinary machine, at its paths; `.ci/run` runs them.
          doCheck = false;
          postInstall = ''
            mkdir -p $out/share/man/man1 $out/share/bash-completion/completions $out/share/zsh/site-functions $out/share/fish/vendor_completions.d
            $out/bin/vplan man --dir $out/share/man/man1
            $out/bin/vplan completions bash > $out/share/bash-completion/completions/vplan
            $out/bin/vplan completions zsh > $out/share/zsh/site-functions/_vplan
            $out/bin/vplan completions fish > $out/share/fish/vendor_completions.d/vplan.fish
          '';
          meta = {
            description = manifest.description;
            license = [ pkgs.lib.licenses.mit pkgs.lib.licenses.asl20 ];
            mainProgram = "vplan";
            platforms = systems;
          };
        };
    in
    {
      packages = each (pkgs: {
        default = vplan pkgs;
      });

      devShells = each (pkgs: {
        default = pkgs.mkShell {
          inputsFrom = [ (vplan pkgs) ];
          packages = [ pkgs.clippy pkgs.rustfmt pkgs.rust-analyzer pkgs.cargo-nextest pkgs.cargo-fuzz ];
        };
      });

      # The contract alone, and nothing of the machine: the sandbox has none of its tools.
      checks = each (pkgs: {
        contract = pkgs.runCommand "vplan-contract" { nativeBuildInputs = [ (vplan pkgs) ]; } ''
          cd ${self} && vplan check --pure --deny warnings && vplan test --min-coverage 100 && touch $out
        '';
      });
    };
}
