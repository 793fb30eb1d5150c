# SPDX-License-Identifier: LGPL-3.0-or-later
"""A link between clients and the server that can be made slow: a pair of virtual Ethernet
interfaces, the far one in a network namespace where the clients run.

    link = Link(); link.up()
    subprocess.run([*link.inside, "nfsbench", "--server", link.server, …])
    link.limit(400)                 # Mbit/s towards the clients, by the kernel's token bucket

Call testbed.enter_namespace() first: the names are then nobody else's.
"""
import subprocess

import testbed

NEAR, FAR, NAMESPACE = "ra-server", "ra-client", "ra-clients"
BURST = 256 * 1024  # bytes: the largest packet that segmentation offload makes, and room


class Link:
    server = "10.99.0.1"
    interface = NEAR
    inside = ("ip", "netns", "exec", NAMESPACE)

    def up(self):
        testbed.run("ip", "netns", "add", NAMESPACE)
        testbed.e2e.at_exit(self.down)
        testbed.run("ip", "link", "add", NEAR, "type", "veth", "peer", "name", FAR)
        testbed.run("ip", "link", "set", FAR, "netns", NAMESPACE)
        testbed.run("ip", "address", "add", self.server + "/24", "dev", NEAR)
        testbed.run("ip", "link", "set", NEAR, "up")
        testbed.run(*self.inside, "ip", "address", "add", "10.99.0.2/24", "dev", FAR)
        testbed.run(*self.inside, "ip", "link", "set", FAR, "up")
        testbed.run(*self.inside, "ip", "link", "set", "lo", "up")

    def down(self):
        subprocess.run(["ip", "netns", "delete", NAMESPACE], check=False,
                       stderr=subprocess.DEVNULL)

    def limit(self, mbit):
        """0: as fast as the machine."""
        subprocess.run(["tc", "qdisc", "delete", "dev", NEAR, "root"], check=False,
                       stderr=subprocess.DEVNULL)
        if mbit:
            testbed.run("tc", "qdisc", "add", "dev", NEAR, "root", "tbf", "rate", f"{mbit}mbit",
                    "burst", str(BURST), "latency", "50ms")

    def sent(self):
        """Bytes from the server to the clients."""
        with open("/proc/net/dev", encoding="ascii") as file:
            counters = dict(line.split(":") for line in file if ":" in line)
        return int({k.strip(): v for k, v in counters.items()}[NEAR].split()[8])
