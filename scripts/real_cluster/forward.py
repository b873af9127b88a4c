"""forward.py DESCRIPTOR HOST PORT: passes on what comes to a listening socket.

The socket is of the machine's network, and what it leads to is of the cluster's: a socket keeps its namespace.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while part := await source.read(1 << 16):
            target.write(part)
            await target.drain()
    target.close()


async def _serve(listener: socket.socket, host: str, port: int) -> None:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            other_reader, other_writer = await asyncio.open_connection(host, port)
        except OSError:
            writer.close()
            return
        await asyncio.gather(_copy(reader, other_writer), _copy(other_reader, writer))

    async with await asyncio.start_server(connected, sock=listener) as server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve(socket.socket(fileno=int(sys.argv[1])), sys.argv[2], int(sys.argv[3])))
