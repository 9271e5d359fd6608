{
  description = "vplan: a verify-contract engine";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/d482ef84049d9b7276b83a06e4e4d76983830097";

  outputs =
    { self, nixpkgs }:
    let
      # Containment of whole process trees needs Linux; vplan is built for nothing else yet.
      systems = [ "x86_64-linux" "aarch64-linux" ];
      each = make: nixpkgs.lib.genAttrs systems (system: make nixpkgs.legacyPackages.${system});
      manifest = (builtins.fromTOML (builtins.readFile ./Cargo.toml)).package;
      vplan =
        pkgs:
        pkgs.rustPlatform.buildRustPackage {
          pname = manifest.name;
          version = manifest.version;
          src = self;
          cargoLock.lockFile = ./Cargo.lock;
          # Tests run real git, make and python; the end-to-end examples also want npm and cargo.
          nativeCheckInputs = [ pkgs.git pkgs.gnumake pkgs.python3 pkgs.nodejs pkgs.cargo pkgs.util-linux ];
          postInstall = ''
            mkdir -p $out/share/man/man1 $out/share/bash-completion/completions $out/share/zsh/site-functions $out/share/fish/vendor_completions.d
            $out/bin/vplan man > $out/share/man/man1/vplan.1
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

      checks = each (pkgs: {
        package = self.packages.${pkgs.stdenv.hostPlatform.system}.default;
        contract = pkgs.runCommand "vplan-contract" { nativeBuildInputs = [ self.packages.${pkgs.stdenv.hostPlatform.system}.default ]; } ''
          cd ${self} && vplan check --deny warnings && vplan test --min-coverage 100 && touch $out
        '';
      });

      formatter = each (pkgs: pkgs.nixfmt-rfc-style);
    };
}
