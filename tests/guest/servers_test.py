# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Servers under load, live and recorded: they answer as they should, end as they are told, and their recordings replay.
nginx without its master process, redis-server with its background threads, and PostgreSQL with its many processes, which
share memory by mmap and a System V segment."""
import glob
import os
import signal
import socket
import subprocess

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

    def test_postgres(self):
        found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
        if not found:
            self.skipTest("postgresql is not installed: scripts/deps --full")
        bin_folder = os.path.dirname(found[-1])
        words = []
        if os.getuid() == 0:  # it refuses to run as root
            words = ["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"]
            os.chown(self.tmp, 65534, 65534)
        recorder = [*words, harness.rdb(), "record", "-q", "--checksum", "-o"]
        self.run_program([*recorder, "made", f"{bin_folder}/initdb", "-D", "data", "-N", "--no-locale", "-U", "tester"], status=0)
        server = [f"{bin_folder}/postgres", "-D", "data", "-k", self.tmp, "-c", "listen_addresses=", "-c", "fsync=off"]
        # Without room in the first segment its processes map files, each by itself.
        server += ["-c", "min_dynamic_shared_memory=16MB", "-c", "shared_buffers=4MB"]
        at = [f"{bin_folder}/psql", "-X", "-h", self.tmp, "-U", "tester", "-d", "postgres", "-At", "-c"]
        self.server = subprocess.Popen([*recorder, "served", *server], cwd=self.tmp, env=self.environment(),
                                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        while self.run_program([f"{bin_folder}/pg_isready", "-h", self.tmp]).status != 0:
            self.assertIsNone(self.server.poll())
        for statement in ("create table t(a int primary key, b text)",
                          "insert into t select i, repeat('x', i % 50) from generate_series(1, 3000) i",
                          "update t set b = b || 'y' where a % 3 = 0", "vacuum analyze t"):
            self.run_program([*at, statement], status=0)
        clients = [subprocess.Popen([*at, f"update t set b = 'client' where a = {i}"], env=self.environment(),
                                    stdout=subprocess.DEVNULL) for i in range(1, 4)]
        self.assertEqual([client.wait() for client in clients], [0, 0, 0])
        self.assertEqual(self.run_program([*at, "select count(*), sum(length(b)) from t"], status=0).out, "3000|74511\n")
        with open(self.path("data/postmaster.pid"), encoding="ascii") as file:
            os.kill(int(file.readline()), signal.SIGINT)
        self.ends()
        for trace in ("made", "served"):
            self.assertGreater(len(self.replay_processes(self.path(trace), "-q", "--no-module")), 8)

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
