"""Certificates for servers: a CA, and a certificate that it signs for 127.0.0.1."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID


@dataclass(frozen=True, slots=True)
class Certificates:
    """PEM files: the CA's certificate, and a server's certificate with its key."""

    ca: Path
    cert: Path
    key: Path

    @property
    def options(self) -> tuple[str, ...]:
        """Return the server options that enable them."""
        return (f"--ssl-ca={self.ca}", f"--ssl-cert={self.cert}", f"--ssl-key={self.key}")


def certificates(folder: Path, host: str = "127.0.0.1") -> Certificates:
    """Create a CA and a server certificate for `host` in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    authority_key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    authority = (
        _builder("authority", "authority", authority_key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(authority_key, hashes.SHA256())
    )
    names = x509.SubjectAlternativeName([x509.IPAddress(ip_address(host))])
    cert = (
        _builder("server", "authority", key)
        .add_extension(names, critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    made = Certificates(folder / "ca.pem", folder / "cert.pem", folder / "key.pem")
    made.ca.write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    made.cert.write_bytes(cert.public_bytes(serialization.Encoding.PEM))
    made.key.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )
    )
    return made


def _builder(subject: str, issuer: str, key: rsa.RSAPrivateKey) -> x509.CertificateBuilder:
    now = datetime.now(timezone.utc)
    return (
        x509.CertificateBuilder()
        .subject_name(_name(subject))
        .issuer_name(_name(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
    )


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
