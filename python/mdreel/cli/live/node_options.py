"""Options of commands that connect nodes: addresses, tokens and certificates."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from mdreel.cli.options.declare import Option

if TYPE_CHECKING:
    from mdreel.live.nodes.security import Security

LINK = "Between nodes"

TokenFile = Annotated[
    Path | None,
    Option(
        "--token-file",
        metavar="FILE",
        group=LINK,
        help="A secret of 16 characters or more that both sides have, in a file that nobody else can read.",
    ),
]
Certificate = Annotated[
    Path | None,
    Option("--tls-certificate", metavar="FILE", group=LINK, help="Our certificate, for tls/ addresses."),
]
Key = Annotated[Path | None, Option("--tls-key", metavar="FILE", group=LINK, help="Its private key.")]
Authority = Annotated[
    Path | None,
    Option(
        "--tls-ca",
        metavar="FILE",
        group=LINK,
        help="The certificate of the authority by which the other side is known.",
    ),
]


def security_of(
    token_file: Path | None, certificate: Path | None, key: Path | None, authority: Path | None
) -> "Security":
    """Return the tokens and certificates of a link."""
    from mdreel.live.nodes.security import Security

    return Security(token_file, certificate, key, authority)
