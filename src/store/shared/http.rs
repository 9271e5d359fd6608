//! A store over HTTP, with bazel-remote's paths: `/ac/KEY` for passes, `/cas/DIGEST` for contents.

use super::kind::Kind;
use super::limit::{CONNECT, LOOK_UP, time_of};
use crate::grpc::RemoteAddress;
use std::io;
use ureq::Agent;
use ureq::http::StatusCode;
use ureq::tls::{Certificate, ClientCert, PemItem, PrivateKey, TlsConfig, parse_pem};
use vplan_base::canon::Digest;

/// A store's address, and the client for it.
#[derive(Debug)]
pub(super) struct Http {
    agent: Agent,
    /// Without a `/` at its end.
    address: String,
    /// Headers of each request: names and values.
    headers: Vec<(String, String)>,
}

/// Reads all certificates of a file.
fn certificates(pem: &[u8]) -> io::Result<Vec<Certificate<'static>>> {
    let items = parse_pem(pem).filter_map(|item| match item {
        Ok(PemItem::Certificate(certificate)) => Some(Ok(certificate)),
        Ok(_) => None,
        Err(error) => Some(Err(failed(error))),
    });
    items.collect()
}

impl Http {
    /// Makes one, which is not asked yet.
    ///
    /// # Errors
    /// A certificate or a key is none.
    pub(super) fn new(at: RemoteAddress) -> io::Result<Self> {
        let RemoteAddress {
            origin,
            path,
            headers,
            tls,
            ..
        } = at;
        let mut known = TlsConfig::builder();
        if let Some(pem) = &tls.authorities {
            known = known.root_certs(certificates(pem)?.into());
        }
        if let Some((certificate, key)) = &tls.own {
            let key = PrivateKey::from_pem(key).map_err(failed)?;
            let own = ClientCert::new_with_certs(&certificates(certificate)?, key);
            known = known.client_cert(Some(own));
        }
        // A redirect may lead to another host, which the user has not named.
        let config = Agent::config_builder()
            .timeout_connect(Some(CONNECT))
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false)
            .tls_config(known.build())
            .build();
        Ok(Self {
            agent: config.new_agent(),
            address: (origin + &path).trim_end_matches('/').to_owned(),
            headers,
        })
    }

    pub(super) fn get(&self, kind: Kind, key: &Digest, most: u64) -> io::Result<Option<Vec<u8>>> {
        let mut request = self.agent.get(self.place(kind, key));
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let limit = match kind {
            Kind::Pass => LOOK_UP,
            Kind::Content => time_of(most),
        };
        let request = request.config().timeout_global(Some(limit)).build();
        let mut response = request.call().map_err(failed)?;
        match response.status() {
            StatusCode::OK => {
                let body = response.body_mut().with_config().limit(most + 1);
                let bytes = body.read_to_vec().map_err(failed)?;
                Ok((bytes.len() as u64 <= most).then_some(bytes))
            }
            StatusCode::NOT_FOUND => Ok(None),
            status => Err(refused(status)),
        }
    }

    pub(super) fn put(&self, kind: Kind, key: &Digest, bytes: &[u8]) -> io::Result<()> {
        let mut request = self.agent.put(self.place(kind, key));
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let limit = time_of(bytes.len() as u64);
        let request = request.config().timeout_global(Some(limit)).build();
        let response = request.send(bytes).map_err(failed)?;
        match response.status() {
            status if status.is_success() => Ok(()),
            status => Err(refused(status)),
        }
    }

    fn place(&self, kind: Kind, key: &Digest) -> String {
        format!("{}/{}/{}", self.address, kind.name(), key.hex())
    }
}

fn failed(error: ureq::Error) -> io::Error {
    io::Error::other(error.to_string())
}

fn refused(status: StatusCode) -> io::Error {
    io::Error::other(format!("it answers with status {}", status.as_u16()))
}
