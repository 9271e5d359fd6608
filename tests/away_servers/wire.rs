//! The way to a server, which a test can cut.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// A port of this machine that leads to another one.
pub struct Wire {
    pub port: u16,
    is_dead: Arc<AtomicBool>,
    passed: Arc<AtomicUsize>,
    streams: Arc<Mutex<Vec<TcpStream>>>,
}

impl Wire {
    /// Makes it.
    pub fn to(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let wire = Self {
            port: listener.local_addr().unwrap().port(),
            is_dead: Arc::default(),
            passed: Arc::default(),
            streams: Arc::default(),
        };
        let (is_dead, streams) = (Arc::clone(&wire.is_dead), Arc::clone(&wire.streams));
        let passed = Arc::clone(&wire.passed);
        std::thread::spawn(move || {
            for asking in listener.incoming() {
                let asking = asking.unwrap();
                let asked = TcpStream::connect(("127.0.0.1", port)).unwrap();
                for (from, to) in [(&asking, &asked), (&asked, &asking)] {
                    let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    let (is_dead, passed) = (Arc::clone(&is_dead), Arc::clone(&passed));
                    std::thread::spawn(move || pass_on(from, to, &is_dead, &passed));
                }
                streams.lock().unwrap().extend([asking, asked]);
            }
        });
        wire
    }

    /// The address of a server at its end.
    pub fn address(&self) -> String {
        format!("grpc://127.0.0.1:{}", self.port)
    }

    /// Ends the connections that there are. New ones are as before.
    pub fn cut(&self) {
        for stream in self.streams.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// The bytes that have come through.
    pub fn passed(&self) -> usize {
        self.passed.load(Ordering::SeqCst)
    }

    /// From here on nothing comes through, and nobody is told.
    pub fn die(&self) {
        self.is_dead.store(true, Ordering::SeqCst);
    }
}

fn pass_on(mut from: TcpStream, mut to: TcpStream, is_dead: &AtomicBool, passed: &AtomicUsize) {
    let mut buffer = [0; 1 << 16];
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        if !is_dead.load(Ordering::SeqCst) && to.write_all(&buffer[..read]).is_err() {
            break;
        }
        passed.fetch_add(read, Ordering::SeqCst);
    }
    let _ = to.shutdown(Shutdown::Both);
}
