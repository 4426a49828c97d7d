"""A network that can fail, and a server with fixed answers."""

import contextlib
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self


class Relay:
    """Forwards a port to another one on this machine, and can be cut like a network."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._server = socket.create_server(('127.0.0.1', 0))
        self.port = int(self._server.getsockname()[1])
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._start(self._accept, self._server)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.cut()

    def cut(self) -> None:
        """End all connections, and accept no more."""
        for end in (self._server, *self._sockets):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(5)
        for end in (self._server, *self._sockets):
            end.close()
        self._sockets, self._threads = [], []

    def restore(self) -> None:
        """Accept connections again."""
        self._server = socket.create_server(('127.0.0.1', self.port))
        self._start(self._accept, self._server)

    def _start(self, work: object, *arguments: socket.socket) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def _accept(self, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = server.accept()
                far = socket.create_connection(('127.0.0.1', self._target))
                self._sockets += [near, far]
                self._start(self._copy, near, far)
                self._start(self._copy, far, near)

    @staticmethod
    def _copy(source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65_536):
                sink.sendall(data)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


class Answers:
    """An HTTP server that answers with each status in turn, and then with the last one."""

    def __init__(self, *statuses: int) -> None:
        self.seen: list[str | None] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.seen.append(self.headers.get('Authorization'))
                status = statuses[min(len(outer.seen), len(statuses)) - 1]
                body = b'{"devices":[],"next":null}' if status == 200 else b'<h1>Not from the API</h1>'
                self.send_response(status)
                self.send_header('Content-Length', str(len(body)))
                if status == 503:
                    self.send_header('Retry-After', '1')
                if status == 302:
                    self.send_header('Location', '/elsewhere')
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self.url = f'http://127.0.0.1:{self._server.server_port}'
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
