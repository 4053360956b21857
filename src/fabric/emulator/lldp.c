/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "fabric/emulator/lldp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fabric/emulator/network.h"

#define SECOND	    1000000000ull
#define INTERVAL    (30 * SECOND)
#define FAST	    SECOND
#define FAST_ROUNDS 4

struct adv_lldp_port {
	int ifindex;
	uint8_t mac[6];
};

static int find_port(const struct adv_lldp *l, uint32_t host)
{
	struct adv_lldp_port *p = &l->port[host];
	struct ifreq request = {.ifr_ifindex = 0};

	snprintf(request.ifr_name, sizeof(request.ifr_name), ADV_NETWORK_PORT, host);
	if (ioctl(l->fd, SIOCGIFHWADDR, &request) < 0)
		return errno;
	memcpy(p->mac, request.ifr_hwaddr.sa_data, sizeof(p->mac));
	if (ioctl(l->fd, SIOCGIFINDEX, &request) < 0)
		return errno;
	p->ifindex = request.ifr_ifindex;
	return 0;
}

int adv_lldp_open(struct adv_lldp *l, const struct adv_dcbx *dcbx, uint32_t ports, uint64_t now)
{
	int error = 0;

	/* Protocol 0: the socket receives nothing. */
	*l = (struct adv_lldp){.fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0),
			       .ports = ports,
			       .port = calloc(ports, sizeof(*l->port)),
			       .dcbx = *dcbx,
			       .at = now};
	if (l->fd < 0)
		error = errno;
	else if (!l->port)
		error = ENOMEM;
	for (uint32_t i = 0; !error && i < ports; i++)
		error = find_port(l, i);
	if (error)
		adv_lldp_close(l);
	return error;
}

void adv_lldp_close(struct adv_lldp *l)
{
	if (l->fd >= 0)
		close(l->fd);
	free(l->port);
	l->fd = -1;
	l->port = NULL;
	l->at = UINT64_MAX;
}

void adv_lldp_send(struct adv_lldp *l, uint64_t now)
{
	const struct adv_lldp_port *p = &l->port[l->next];
	struct sockaddr_ll to = {.sll_family = AF_PACKET,
				 .sll_protocol = htons(ADV_LLDP_ETHERTYPE),
				 .sll_ifindex = p->ifindex};
	uint8_t frame[ADV_DCBX_FRAME_MAX];
	size_t len;

	memcpy(l->dcbx.mac, p->mac, sizeof(l->dcbx.mac));
	len = adv_dcbx_encode(&l->dcbx, frame, sizeof(frame));
	/* A frame that is lost is as on a real cable: the next one follows. */
	if (len)
		(void)!sendto(l->fd, frame, len, MSG_DONTWAIT, (struct sockaddr *)&to, sizeof(to));
	l->at = now + (l->rounds < FAST_ROUNDS ? FAST : INTERVAL) / l->ports;
	if (++l->next == l->ports) {
		l->next = 0;
		if (l->rounds < FAST_ROUNDS)
			l->rounds++;
	}
}
