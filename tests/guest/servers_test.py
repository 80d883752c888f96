# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Servers under load, live and recorded: they answer as they should, end as they are told, and their recordings replay.
nginx without its master process, and redis-server with its background threads."""
import os
import signal
import socket
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import harness

NGINX = """daemon off; master_process off; pid {0}/pid; error_log {0}/error;
events {{ worker_connections 64; }}
http {{ access_log {0}/access; client_body_temp_path {0}; proxy_temp_path {0}; fastcgi_temp_path {0};
  uwsgi_temp_path {0}; scgi_temp_path {0};
  server {{ listen unix:{0}/socket; root {0}/www; }} }}
"""


class Servers(harness.TestCase):
    default_timeout = 300

    def setUp(self):
        super().setUp()
        self.server = None
        self.addCleanup(self.stop_server)

    def stop_server(self):
        if self.server is not None and self.server.poll() is None:
            self.server.kill()
            self.server.wait()

    def start(self, words, argv):
        """The server listens on `socket` when it is ready."""
        self.server = subprocess.Popen([*words, *argv], cwd=self.tmp, env=self.environment(), stdout=subprocess.DEVNULL,
                                       stderr=subprocess.PIPE)
        while self.server.poll() is None:
            try:
                self.connect().close()
                return
            except (FileNotFoundError, ConnectionRefusedError):
                os.sched_yield()  # not yet
        self.fail(f"{argv[0]} ended with {self.server.returncode}: {self.server.stderr.read().decode()}")

    def connect(self):
        client = socket.socket(socket.AF_UNIX)
        try:
            client.connect(self.path("socket"))
        except OSError:
            client.close()
            raise
        return client

    def ends(self, status=0):
        _, err = self.server.communicate(timeout=self.default_timeout)
        self.assertEqual(self.server.returncode, status, err.decode())
        self.assertNotIn(b"internal error", err)

    def get(self, name):
        with self.connect() as client:
            client.sendall(f"GET /{name} HTTP/1.0\r\n\r\n".encode())
            answer = b""
            while part := client.recv(65536):
                answer += part
        return answer.partition(b"\r\n\r\n")

    def serve_files(self, words):
        os.makedirs(self.path("www"), exist_ok=True)
        content = {f"f{i}": bytes([65 + i]) * (1 << (2 * i)) for i in range(9)}
        for name, body in content.items():
            with open(self.path(f"www/{name}"), "wb") as file:
                file.write(body)
        self.write("nginx.conf", NGINX.format(self.tmp))
        self.start(words, ["/usr/sbin/nginx", "-p", self.tmp, "-c", self.path("nginx.conf")])
        for _ in range(10):
            for name, body in content.items():
                head, _, got = self.get(name)
                self.assertTrue(head.startswith(b"HTTP/1.1 200"), head)
                self.assertTrue(got == body, name)
            self.assertTrue(self.get("missing")[0].startswith(b"HTTP/1.1 404"))
        with open(self.path("pid"), encoding="ascii") as file:
            os.kill(int(file.read()), signal.SIGQUIT)
        self.ends()

    def serve_keys(self, words):
        self.start(words, ["/usr/bin/redis-server", "--port", "0", "--unixsocket", self.path("socket"), "--save", "",
                           "--dir", self.tmp])
        at = ["-s", self.path("socket")]
        load = self.run_program(["/usr/bin/redis-benchmark", *at, "-n", "2000", "-c", "8", "-q", "-t",
                                 "set,get,lpush,lrange_100"], status=0)
        self.assertEqual(load.out.count("requests per second"), 5, load.out)
        for i in range(50):
            self.assertEqual(self.run_program(["/usr/bin/redis-cli", *at, "incr", "counter"], status=0).out, f"{i + 1}\n")
        self.run_program(["/usr/bin/redis-cli", *at, "flushall", "async"], status=0)
        self.run_program(["/usr/bin/redis-cli", *at, "shutdown", "nosave"], status=0)
        self.ends()

    def check(self, program, serve):
        if not os.path.exists(program):
            self.skipTest(f"{program} is not installed: scripts/deps --full")
        serve([harness.rdb(), "run"])
        serve([harness.rdb(), "record", "-q", "--checksum", "-o", self.path("trace")])
        replayed = self.rdb("replay", "--no-module", self.path("trace"), status=0)
        self.assertNotIn("ends at time", replayed.err)

    def test_nginx(self):
        self.check("/usr/sbin/nginx", self.serve_files)

    def test_redis(self):
        self.check("/usr/bin/redis-server", self.serve_keys)


if __name__ == "__main__":
    harness.main()
