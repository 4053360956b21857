/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Addresses of the hosts of an emulated fabric, and the socket of its emulator. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "base/sys.h"
#include "runtime/link/port.h"
#include "runtime/link/ring.h"
#include "base/bytes.h"

size_t adv_port_memory_len(const struct adv_port_place *place)
{
	return adv_ring_memory_len(place->tx_size) + adv_ring_memory_len(place->rx_size) +
	       sizeof(struct adv_port_flag);
}

void adv_port_mac(uint32_t host, uint8_t mac[6])
{
	/* locally administered */
	mac[0] = 0x02;
	mac[1] = 0xad;
	adv_put_be32(mac + 2, host + 1);
}

void adv_port_gid(const struct adv_port_place *place, uint32_t host, bool local,
		  struct adv_gid *gid)
{
	uint8_t mac[6];

	memset(gid, 0, sizeof(*gid));
	if (!local) {
		gid->raw[10] = gid->raw[11] = 0xff;
		adv_put_be32(gid->raw + 12, place->network + host);
		return;
	}
	/* RFC 4291, appendix A */
	adv_port_mac(host, mac);
	gid->raw[0] = 0xfe;
	gid->raw[1] = 0x80;
	gid->raw[8] = mac[0] ^ 2;
	gid->raw[9] = mac[1];
	gid->raw[10] = mac[2];
	gid->raw[11] = 0xff;
	gid->raw[12] = 0xfe;
	memcpy(gid->raw + 13, mac + 3, 3);
}

uint32_t adv_port_host_of(const struct adv_port_place *place, const struct adv_gid *gid)
{
	struct adv_gid exact;
	uint32_t host = adv_gid_is_ipv4(gid) ? adv_get_be32(gid->raw + 12) - place->network
					     : (adv_get_be32(gid->raw + 12) & 0xffffff) - 1;

	if (host >= place->hosts)
		return UINT32_MAX;
	adv_port_gid(place, host, !adv_gid_is_ipv4(gid), &exact);
	return adv_gid_equal(&exact, gid) ? host : UINT32_MAX;
}

/* Any process can bind a name of the abstract namespace: only this user and root are trusted. */
static int check_peer(int sock)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (adv_sys_getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return errno;
	return peer.uid == 0 || peer.uid == geteuid() ? 0 : EPERM;
}

int adv_port_dial(void)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int n = snprintf(a.sun_path + 1, sizeof(a.sun_path) - 1, "%s-%u", ADV_PORT_NAME,
			 (unsigned)geteuid());
	socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
	int fd = adv_sys_socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	int error;

	if (fd < 0)
		return -1;
	error = adv_sys_connect(fd, &a, len) < 0 ? errno : check_peer(fd);
	if (!error)
		return fd;
	adv_sys_close(fd);
	errno = error;
	return -1;
}
