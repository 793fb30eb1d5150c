# SPDX-License-Identifier: LGPL-3.0-or-later
"""A link between clients and the server that can be made slow: a pair of virtual Ethernet
interfaces, the far one in a network namespace where the clients run.

    link = Link(); link.up()
    subprocess.run([*link.inside, "nfsbench", "--server", link.server, …])
    link.limit(400)                 # Mbit/s towards the clients, by the kernel's token bucket

    link = Emulated(hops_of("80mbit", loss=0.01), program="…/linkemu"); link.up()

An Emulated link has any rate, delay, loss and other users, by bench/linkemu: a process between two
TUN devices, which carries the kernels' own packets. It stands in for the kernel's netem, which many
kernels are built without; so it is the same everywhere. What it is not: it keeps packets in order, loses them
one by one at random and in full queues only, and a busy machine makes it late by its scheduling.

Call testbed.enter_namespace() first: the names are then nobody else's.
"""
import json
import os
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


# The three ways between client and server of Macklem's section 4, in hops (bench/linkemu). Nobody
# knows how much others sent on his networks. Queues are of his routers' size (some dozens of packets,
# whatever their bytes); shares and bursts of others are calibrated so that a client of READs over UDP
# which waits 1 s for what is lost keeps over 80mbit what his table 1 says of its rate on the LAN: 0.59
# (117 of 198 KB/s). Ours reads more in the second that it waits, so that fewer packets are lost than on his.
ETHERNET = "rate=10M,delay=100us,queue=64K"
SHARED_ETHERNET = "rate=10M,delay=500us,queue=64K,slots=24,cross=20%,burst=6"
TOKEN_RING = "rate=80M,delay=500us,queue=64K,slots=24,cross=30%,burst=10"
SERIAL_LINE = "rate=56k,delay=5ms,queue=64K,slots=24"
CONFIGURATIONS = {
    "lan": (ETHERNET,),
    "80mbit": (SHARED_ETHERNET, TOKEN_RING),
    "56kbit": (SHARED_ETHERNET, TOKEN_RING, SERIAL_LINE),  # on this line almost no others
    # Today's: nothing but the loss that is asked for.
    "gigabit": ("rate=1G,delay=100us,queue=512K",),
    "4mbit": ("rate=4M,delay=1ms,queue=64K",),
}


def hops_of(name, loss=0):
    """The hops of one of CONFIGURATIONS; `loss`: share of packets lost by chance besides, 0 to 1."""
    return (*CONFIGURATIONS[name], *((f"loss={100 * loss:g}%",) if loss else ()))


class Emulated(Link):
    """Of such hops; the same members but limit()."""
    MTU = 1500  # of Ethernet: 8 KiB are six fragments

    def __init__(self, hops, program="linkemu", seed=1):
        self.hops, self.program, self.seed = hops, program, seed
        self.process = None

    def up(self):
        testbed.run("ip", "netns", "add", NAMESPACE)
        testbed.e2e.at_exit(self.down)
        if not os.path.exists("/dev/net/tun"):
            raise testbed.TestbedUnavailable("no /dev/net/tun: links cannot be emulated")
        self.process = subprocess.Popen(
            [self.program, "--seed", str(self.seed), f"/run/netns/{NAMESPACE}", NEAR, FAR,
             *self.hops], stdout=subprocess.PIPE, text=True, start_new_session=True)
        if self.process.stdout.readline() != "up\n":
            raise testbed.TestbedUnavailable("linkemu cannot make its TUN devices here")
        for where, device, address in ((), NEAR, self.server), (self.inside, FAR, "10.99.0.2"):
            testbed.run(*where, "ip", "address", "add", address + "/24", "dev", device)
            testbed.run(*where, "ip", "link", "set", device, "mtu", str(self.MTU), "up")
        testbed.run(*self.inside, "ip", "link", "set", "lo", "up")
        return self

    def down(self):
        """Returns what it counted, of each way (up: to the clients): packets, bytes, lost, …"""
        counted = {}
        if self.process:
            self.process.terminate()
            told = self.process.communicate(timeout=10)[0]
            counted, self.process = json.loads(told or "{}"), None
        super().down()
        return counted

    def limit(self, mbit):
        raise NotImplementedError("its rate is that of its hops")

    def __enter__(self):
        return self.up()

    def __exit__(self, *_):
        self.down()
