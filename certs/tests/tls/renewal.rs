//! Files that change the way Kubernetes, cert-manager and people change them.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::sync::Arc;

use certs::{Client, ClientFiles, Error, Identity, Reload, Server, ServerFiles, Trust};

use crate::folder::{self, Folder, authority};
use crate::generate::Issued;
use crate::handshake::{Connection, connect};

#[test]
fn files_that_do_not_change_are_left_alone() {
    let folder = Folder::of(&authority("here"));
    let (server, client) = (folder.mutual_server(), folder.client_with("client"));
    let before = (server.current(), client.current());
    // Written again, with other times, and the same contents.
    for name in ["ca.crt", "server.crt", "server.key", "client.crt"] {
        let octets = fs::read(folder.file(name)).unwrap();
        fs::remove_file(folder.file(name)).unwrap();
        folder.write(name, octets);
    }
    assert_eq!(server.reload(), Reload::Unchanged);
    assert_eq!(client.reload(), Reload::Unchanged);
    assert!(Arc::ptr_eq(&before.0, &server.current()));
    assert!(Arc::ptr_eq(&before.1, &client.current()));
}

#[test]
fn an_old_connection_lives_on_and_a_new_one_sees_the_new_certificate() {
    let here = authority("here");
    let folder = Folder::of(&here);
    let (server, client) = (folder.server(), folder.client());
    let mut before = connect(&client, &server).unwrap();
    folder.put("server", &folder::server(&here));
    assert_eq!(server.reload(), Reload::Renewed);
    let mut after = connect(&client, &server).unwrap();
    assert_ne!(before.server_certificate(), after.server_certificate());
    assert!(before.carries_data() && after.carries_data());
    assert_eq!(server.reload(), Reload::Unchanged);
}

#[test]
fn a_handshake_that_began_before_a_renewal_ends_as_it_began() {
    let here = authority("here");
    let folder = Folder::of(&here);
    let (server, client) = (folder.server(), folder.client());
    let begun = server.current();
    let shown = connect(&client, &server).unwrap().server_certificate();
    folder.put("server", &folder::server(&here));
    server.reload();
    let late = crate::handshake::connect_as("localhost", client.current(), begun).unwrap();
    assert_eq!(late.server_certificate(), shown);
}

#[test]
fn a_secret_that_the_kubelet_swaps_is_seen() {
    let here = authority("here");
    let folder = Folder::of(&here);
    let secret = Secret::mount(&folder, &folder::server(&here));
    let server = Server::load(ServerFiles {
        identity: secret.identity(),
        ..folder.server_files()
    });
    let (server, client) = (server.unwrap(), folder.client());
    let before = connect(&client, &server).unwrap().server_certificate();
    assert_eq!(server.reload(), Reload::Unchanged);

    secret.swap(&folder::server(&here), "..2026_11_30_02_00_00.1");
    assert_eq!(server.reload(), Reload::Renewed);
    let after = connect(&client, &server).unwrap().server_certificate();
    assert_ne!(before, after);
    assert_eq!(server.reload(), Reload::Unchanged);
}

#[test]
fn contents_count_and_times_do_not() {
    let here = authority("here");
    let folder = Folder::of(&here);
    let (server, client) = (folder.server(), folder.client());
    let before = connect(&client, &server).unwrap().server_certificate();
    let names = ["server.crt", "server.key"];
    let times = names.map(|name| fs::metadata(folder.file(name)).unwrap().modified().unwrap());

    folder.put("server", &folder::server(&here));
    for (name, time) in names.into_iter().zip(times) {
        let file = File::options().write(true).open(folder.file(name)).unwrap();
        file.set_modified(time).unwrap();
        assert_eq!(file.metadata().unwrap().modified().unwrap(), time);
    }
    assert_eq!(server.reload(), Reload::Renewed);
    let after = connect(&client, &server).unwrap().server_certificate();
    assert_ne!(before, after);
}

#[test]
fn a_pair_that_is_swapped_by_half_keeps_the_old_one_until_it_is_whole() {
    let here = authority("here");
    let folder = Folder::of(&here);
    let (server, client) = (folder.server(), folder.client());
    let before = connect(&client, &server).unwrap().server_certificate();
    let next = folder::server(&here);

    folder.write("server.crt", &next.cert);
    let Identity { cert, key } = folder.identity("server");
    let mismatch = Error::KeyMismatch { cert, key };
    assert_eq!(server.reload(), Reload::Kept(mismatch.clone()));
    assert_eq!(shown(&client, &server), before);
    assert_eq!(server.reload(), Reload::StillKept(mismatch));
    assert_eq!(shown(&client, &server), before);

    folder.write("server.key", &next.key);
    assert_eq!(server.reload(), Reload::Renewed);
    assert_ne!(shown(&client, &server), before);
}

#[test]
fn a_failure_is_new_once_for_each_change() {
    let here = authority("here");
    let folder = Folder::of(&here);
    let (server, client) = (folder.server(), folder.client());
    let before = shown(&client, &server);
    let file = folder.file("server.crt");
    let original = fs::read(&file).unwrap();

    fs::remove_file(&file).unwrap();
    let missing = Error::Missing { file };
    assert_eq!(server.reload(), Reload::Kept(missing.clone()));
    assert_eq!(server.reload(), Reload::StillKept(missing));
    for wrong in ["nothing of worth", "nothing of worth either"] {
        folder.write("server.crt", wrong);
        let Reload::Kept(error) = server.reload() else {
            panic!("{wrong:?} is another thing to complain of");
        };
        assert!(matches!(error, Error::NoCertificate { .. }), "{error:?}");
        assert_eq!(server.reload(), Reload::StillKept(error));
    }
    assert_eq!(shown(&client, &server), before);

    // What was in force all the time is back: that is told too.
    folder.write("server.crt", original);
    assert_eq!(server.reload(), Reload::Renewed);
    assert_eq!(server.reload(), Reload::Unchanged);
    assert_eq!(shown(&client, &server), before);
}

#[test]
fn a_client_ca_that_is_unusable_keeps_all_of_the_old() {
    let here = authority("here");
    let folder = Folder::of(&here);
    let server = folder.mutual_server();
    let client = folder.client_with("client");
    let before = shown(&client, &server);
    folder.put("server", &folder::server(&here));
    folder.write("ca.crt", "");
    let reload = server.reload();
    assert!(
        matches!(reload, Reload::Kept(Error::NoCertificate { .. })),
        "{reload:?}"
    );
    assert_eq!(shown(&client, &server), before);
}

#[test]
fn towards_the_broker_the_ca_and_the_identity_are_renewed() {
    let (old, new) = (authority("old"), authority("new"));
    let folder = Folder::of(&old);
    folder.write("trusted.crt", old.own().cert);
    let client = Client::load(ClientFiles {
        trust: Trust::File(folder.file("trusted.crt")),
        identity: Some(folder.identity("client")),
        ..folder.client_files()
    });
    let client = client.unwrap();
    let connection = connect(&client, &folder.mutual_server()).unwrap();
    assert_eq!(connection.client_subject(), "CN=alice,O=Acme");

    // The broker moves to the new CA and asks for certificates of it.
    folder.put("ca", &new.own());
    folder.put("server", &folder::server(&new));
    let broker = folder.mutual_server();
    assert!(connect(&client, &broker).is_err());
    folder.write("trusted.crt", new.own().cert);
    assert_eq!(client.reload(), Reload::Renewed);
    assert!(connect(&client, &broker).is_err());
    let bob = new.client("CN=bob", crate::generate::Valid::Now).unwrap();
    folder.put("client", &bob);
    assert_eq!(client.reload(), Reload::Renewed);
    let mut connection = connect(&client, &broker).unwrap();
    assert_eq!(connection.client_subject(), "CN=bob");
    assert!(connection.carries_data());

    fs::remove_file(folder.file("trusted.crt")).unwrap();
    let file = folder.file("trusted.crt");
    assert_eq!(client.reload(), Reload::Kept(Error::Missing { file }));
    connect(&client, &broker).unwrap();
}

fn shown(client: &Client, server: &Server) -> rustls::pki_types::CertificateDer<'static> {
    connect(client, server)
        .as_ref()
        .map(Connection::server_certificate)
        .unwrap()
}

/// A secret as the kubelet mounts it: `tls.crt` is a link into `..data`, and `..data` is a link to a
/// folder with a time for a name.
struct Secret<'a>(&'a Folder);

impl<'a> Secret<'a> {
    fn mount(folder: &'a Folder, issued: &Issued) -> Self {
        let secret = Self(folder);
        secret.fill("..2026_11_30_01_00_00.1", issued);
        symlink("..2026_11_30_01_00_00.1", folder.file("..data")).unwrap();
        for name in ["tls.crt", "tls.key"] {
            symlink(format!("..data/{name}"), folder.file(name)).unwrap();
        }
        secret
    }

    fn identity(&self) -> Identity {
        self.0.identity("tls")
    }

    /// Fills a new folder, renames a new link over the old one, and removes the old folder.
    fn swap(&self, issued: &Issued, time: &str) {
        let old = fs::read_link(self.0.file("..data")).unwrap();
        self.fill(time, issued);
        symlink(time, self.0.file("..data_tmp")).unwrap();
        fs::rename(self.0.file("..data_tmp"), self.0.file("..data")).unwrap();
        fs::remove_dir_all(self.0.path().join(old)).unwrap();
    }

    fn fill(&self, time: &str, issued: &Issued) {
        let folder = self.0.file(time);
        fs::create_dir(&folder).unwrap();
        issued.write(&folder, "tls").unwrap();
    }
}
