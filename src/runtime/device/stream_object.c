/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the kernel knows of the TCP connection of an iWARP queue pair, for tools. */
#include "runtime/device/streams.h"

#include <arpa/inet.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/sys.h"
#include "nic/engine/address.h"
#include "nic/engine/resources.h"

union stream_address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* Writes address and port of one end of the connection. */
static void describe_end(const union stream_address *from, uint8_t gid[16], uint16_t *port)
{
	if (from->any.sa_family == AF_INET6) {
		memcpy(gid, &from->v6.sin6_addr, 16);
		*port = ntohs(from->v6.sin6_port);
	} else if (from->any.sa_family == AF_INET) {
		gid[10] = gid[11] = 0xff;
		memcpy(gid + 12, &from->v4.sin_addr, 4);
		*port = ntohs(from->v4.sin_port);
	}
}

void adv_device_stream_object(const struct adv_engine *e, int fd, struct adv_object_qp *out)
{
	union stream_address local = {.any = {0}}, peer = {.any = {0}};
	socklen_t length = sizeof(local), peer_length = sizeof(peer);
	struct tcp_info info = {0};
	socklen_t info_length = sizeof(info);
	struct adv_gid gid;
	int queued = 0;

	out->flags |= ADV_QP_STREAM;
	if (adv_sys_getsockname(fd, &local, &length) == 0 &&
	    adv_sys_getpeername(fd, &peer, &peer_length) == 0) {
		describe_end(&local, out->sgid, &out->stream_local);
		describe_end(&peer, out->dgid, &out->stream_peer);
		memcpy(gid.raw, out->dgid, sizeof(gid.raw));
		if (adv_address_is_here(e, &gid))
			out->flags |= ADV_QP_LOCAL_PEER;
	}
	if (adv_sys_ioctl(fd, SIOCOUTQ, &queued) == 0)
		out->stream_queued = (uint32_t)queued;
	if (adv_sys_getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &info_length) < 0)
		return;
	out->stream_acked = (uint32_t)info.tcpi_bytes_acked;
	out->stream_retries = info.tcpi_retransmits;
}
