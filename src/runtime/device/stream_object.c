/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the kernel knows of the TCP connection of an iWARP queue pair, for tools. */
#include "runtime/device/streams_internal.h"

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
static void read_end(const union stream_address *from, struct adv_gid *gid, uint16_t *port)
{
	if (from->any.sa_family == AF_INET6) {
		memcpy(gid->raw, &from->v6.sin6_addr, 16);
		*port = ntohs(from->v6.sin6_port);
	} else if (from->any.sa_family == AF_INET) {
		gid->raw[10] = gid->raw[11] = 0xff;
		memcpy(gid->raw + 12, &from->v4.sin_addr, 4);
		*port = ntohs(from->v4.sin_port);
	}
}

const struct device_stream_ends *adv_device_stream_ends(struct device_stream *s)
{
	union stream_address local = {.any = {0}}, peer = {.any = {0}};
	socklen_t length = sizeof(local), peer_length = sizeof(peer);

	if (s->ends.known || adv_sys_getsockname(s->fd, &local, &length) != 0 ||
	    adv_sys_getpeername(s->fd, &peer, &peer_length) != 0)
		return &s->ends;
	read_end(&local, &s->ends.local, &s->ends.local_port);
	read_end(&peer, &s->ends.peer, &s->ends.peer_port);
	s->ends.known = true;
	return &s->ends;
}

void adv_device_stream_object(struct device_stream *s, struct adv_object_qp *out)
{
	const struct device_stream_ends *ends = adv_device_stream_ends(s);
	struct tcp_info info = {0};
	socklen_t info_length = sizeof(info);
	int queued = 0;

	out->flags |= ADV_QP_STREAM;
	if (ends->known) {
		memcpy(out->sgid, ends->local.raw, sizeof(out->sgid));
		memcpy(out->dgid, ends->peer.raw, sizeof(out->dgid));
		out->stream_local = ends->local_port;
		out->stream_peer = ends->peer_port;
		if (adv_address_is_here(s->streams->device->engine, &ends->peer))
			out->flags |= ADV_QP_LOCAL_PEER;
	}
	if (adv_sys_ioctl(s->fd, SIOCOUTQ, &queued) == 0)
		out->stream_queued = (uint32_t)queued;
	if (adv_sys_getsockopt(s->fd, IPPROTO_TCP, TCP_INFO, &info, &info_length) < 0)
		return;
	out->stream_acked = (uint32_t)info.tcpi_bytes_acked;
	out->stream_retries = info.tcpi_retransmits;
}
