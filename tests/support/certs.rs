//! Certificates for both ends of a connection.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use std::path::Path;

/// Who signs certificates.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        Self(CertifiedIssuer::self_signed(params, key).unwrap())
    }

    /// Its own certificate, as PEM.
    fn pem(&self) -> String {
        self.0.pem()
    }

    /// A certificate for a name, and its key, as PEM.
    fn signed(&self, name: &str) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        (certificate.pem(), key.serialize_pem())
    }
}

/// Two authorities, of which a server of this host believes the first and has a certificate by it, and files by
/// which a client is right or wrong: `ca`, `cert`, `key`, and `other-` before each.
pub struct Ends {
    /// What the server believes, as PEM.
    pub ca: String,
    /// The server's certificate and key, as PEM.
    pub server: (String, String),
}

impl Ends {
    /// Makes them; the files are written to a folder.
    pub fn new(folder: &Path) -> Self {
        let (ours, other) = (Authority::new(), Authority::new());
        for (of, authority) in [("", &ours), ("other-", &other)] {
            let (cert, key) = authority.signed("me");
            for (name, text) in [("ca", authority.pem()), ("cert", cert), ("key", key)] {
                std::fs::write(folder.join(format!("{of}{name}")), text).unwrap();
            }
        }
        Self {
            ca: ours.pem(),
            server: ours.signed("127.0.0.1"),
        }
    }
}
