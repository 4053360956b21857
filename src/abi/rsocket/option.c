/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Options of rsockets: the socket options that have a meaning here, and the options of rsocket(7).
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "base/array.h"
#include "base/sys.h"
#include "base/export.h"
#include "abi/rsocket/cancel.h"
#include "abi/rsocket/service.h"
#include "abi/rsocket/state.h"
#include "abi/rsocket/table.h"

#define MAX_BUFFER   (1u << 30)
#define MAX_REQUESTS 0xfffe
#define DEFAULT_MSS  2048

/* Reads the value of an option as an int. False: the value is too short. */
static bool int_of(const void *value, socklen_t len, int *number)
{
	if (!value || len < sizeof(*number))
		return false;
	memcpy(number, value, sizeof(*number));
	return true;
}

static int set_id_option(struct adv_rsocket *rs, int name, const void *value, size_t len)
{
	if (rs->type != SOCK_STREAM)
		return 0;
	return rdma_set_option(rs->s.id, RDMA_OPTION_ID, name, (void *)(uintptr_t)value, len);
}

static int set_tos(struct adv_rsocket *rs, int tos)
{
	uint8_t byte = (uint8_t)tos;

	if (tos < -1 || tos > 255)
		return adv_rs_error(EINVAL);
	if (set_id_option(rs, RDMA_OPTION_ID_TOS, &byte, sizeof(byte)))
		return -1;
	rs->options.tos = tos < 0 ? 0 : tos;
	return 0;
}

/* Sets the size of a buffer to twice the requested size, as the kernel does. The size of a buffer
 * in use does not change. */
static void set_buffer(struct adv_rsocket *rs, uint32_t *size, int wanted)
{
	uint32_t value =
		wanted < 0 || (uint32_t)wanted > MAX_BUFFER / 2 ? MAX_BUFFER : (uint32_t)wanted * 2;

	if (!rs->channel && !(rs->type == SOCK_DGRAM && rs->d.ready))
		*size = value < 2 * ADV_RS_LOW_WATER ? 2 * ADV_RS_LOW_WATER : value;
}

static int set_timeout(int64_t *timeout_us, const void *value, socklen_t len)
{
	struct timeval tv;

	if (!value || len < sizeof(tv))
		return adv_rs_error(EINVAL);
	memcpy(&tv, value, sizeof(tv));
	if (tv.tv_sec < 0 || tv.tv_usec < 0 || tv.tv_usec >= 1000000)
		return adv_rs_error(EDOM);
	if (tv.tv_sec > INT32_MAX)
		tv.tv_sec = INT32_MAX;
	*timeout_us = tv.tv_sec * INT64_C(1000000) + tv.tv_usec;
	return 0;
}

static int set_linger(struct adv_rsocket *rs, const void *value, socklen_t len)
{
	if (!value || len < sizeof(rs->options.linger))
		return adv_rs_error(EINVAL);
	memcpy(&rs->options.linger, value, sizeof(rs->options.linger));
	if (rs->options.linger.l_linger < 0)
		rs->options.linger.l_linger = INT32_MAX;
	return 0;
}

static int set_reuseaddr(struct adv_rsocket *rs, int on)
{
	/* An id that has an address cannot change this option. For sockets that is no error. */
	if (set_id_option(rs, RDMA_OPTION_ID_REUSEADDR, &on, sizeof(on)) &&
	    rs->s.state == ADV_RS_INIT)
		return -1;
	rs->options.reuseaddr = !!on;
	return 0;
}

static int set_keepalive(struct adv_rsocket *rs, int on)
{
	rs->options.keepalive = !!on;
	if (rs->type == SOCK_STREAM && rs->s.state == ADV_RS_CONNECTED)
		adv_rs_service_keepalive(rs);
	return 0;
}

static int set_socket_option(struct adv_rsocket *rs, int name, const void *value, socklen_t len)
{
	int number;

	if (name == SO_LINGER)
		return set_linger(rs, value, len);
	if (name == SO_RCVTIMEO)
		return set_timeout(&rs->options.recv_timeout_us, value, len);
	if (name == SO_SNDTIMEO)
		return set_timeout(&rs->options.send_timeout_us, value, len);
	if (!int_of(value, len, &number))
		return adv_rs_error(EINVAL);
	switch (name) {
	case SO_REUSEADDR:
		return set_reuseaddr(rs, number);
	case SO_RCVBUF:
		set_buffer(rs, &rs->options.rcvbuf, number);
		return 0;
	case SO_SNDBUF:
		set_buffer(rs, &rs->options.sndbuf, number);
		return 0;
	case SO_KEEPALIVE:
		return set_keepalive(rs, number);
	case SO_OOBINLINE:
		rs->options.oobinline = !!number;
		return 0;
	case SO_BROADCAST:
		rs->options.broadcast = !!number;
		return 0;
	default:
		return adv_rs_error(ENOPROTOOPT);
	}
}

static int set_tcp_option(struct adv_rsocket *rs, int name, const void *value, socklen_t len)
{
	int number;

	if (rs->type != SOCK_STREAM)
		return adv_rs_error(ENOPROTOOPT);
	if (name == TCP_CONGESTION)
		return 0; /* the hardware controls congestion */
	if (!int_of(value, len, &number))
		return adv_rs_error(EINVAL);
	switch (name) {
	case TCP_NODELAY:
		rs->options.nodelay = !!number;
		return 0;
	case TCP_MAXSEG:
		return 0; /* the MTU determines the segment size */
	case TCP_KEEPIDLE:
	case TCP_KEEPINTVL:
	case TCP_KEEPCNT:
		if (number <= 0)
			return adv_rs_error(EINVAL);
		if (name == TCP_KEEPINTVL)
			rs->options.keepintvl = number;
		else if (name == TCP_KEEPCNT)
			rs->options.keepcnt = number;
		else
			rs->options.keepidle = number;
		return set_keepalive(rs, rs->options.keepalive);
	default:
		return adv_rs_error(ENOPROTOOPT);
	}
}

static int set_ip_option(struct adv_rsocket *rs, int level, int name, const void *value,
			 socklen_t len)
{
	int number;

	if (!int_of(value, len, &number))
		return adv_rs_error(EINVAL);
	if (level == IPPROTO_IPV6 && name == IPV6_V6ONLY) {
		number = !!number;
		if (set_id_option(rs, RDMA_OPTION_ID_AFONLY, &number, sizeof(number)))
			return -1;
		rs->options.v6only = number;
		return 0;
	}
	if ((level == IPPROTO_IP && name == IP_TOS) ||
	    (level == IPPROTO_IPV6 && name == IPV6_TCLASS))
		return set_tos(rs, number);
	return adv_rs_error(ENOPROTOOPT);
}

static int set_route(struct adv_rsocket *rs, const void *value, socklen_t len)
{
	void *copy;

	if (rs->type != SOCK_STREAM || !value || len < sizeof(struct ibv_path_data) ||
	    len % sizeof(struct ibv_path_data))
		return adv_rs_error(EINVAL);
	copy = malloc(len);
	if (!copy)
		return -1;
	memcpy(copy, value, len);
	free(rs->s.route);
	rs->s.route = copy;
	rs->s.route_len = len;
	return 0;
}

static int set_rdma_option(struct adv_rsocket *rs, int name, const void *value, socklen_t len)
{
	uint32_t *sizes[] = {[RDMA_SQSIZE] = &rs->options.sq_size,
			     [RDMA_RQSIZE] = &rs->options.rq_size,
			     [RDMA_INLINE] = &rs->options.inline_size};
	int number;

	if (rs->type == SOCK_STREAM ? rs->s.state > ADV_RS_LISTENING : rs->d.ready)
		return adv_rs_error(EINVAL);
	if (name == RDMA_ROUTE)
		return set_route(rs, value, len);
	if (!int_of(value, len, &number) || number < 0)
		return adv_rs_error(EINVAL);
	if (name == RDMA_IOMAPSIZE) {
		rs->options.mappings = adv_rs_round_mappings((uint32_t)number);
		return 0;
	}
	if (name < 0 || (size_t)name >= ADV_ARRAY_SIZE(sizes))
		return adv_rs_error(ENOPROTOOPT);
	*sizes[name] = number > MAX_REQUESTS ? MAX_REQUESTS : (uint32_t)number;
	return 0;
}

static int set_option(struct adv_rsocket *rs, int level, int name, const void *value, socklen_t len)
{
	/* A datagram rsocket also sets the option on its UDP socket, which knows more options. */
	bool known = rs->type == SOCK_DGRAM && level != SOL_RDMA;

	if (known && adv_sys_setsockopt(rs->fd, level, name, value, len))
		return -1;
	switch (level) {
	case SOL_SOCKET:
		return set_socket_option(rs, name, value, len) && !known ? -1 : 0;
	case IPPROTO_TCP:
		return set_tcp_option(rs, name, value, len);
	case IPPROTO_IP:
	case IPPROTO_IPV6:
		return set_ip_option(rs, level, name, value, len) && !known ? -1 : 0;
	case SOL_RDMA:
		return set_rdma_option(rs, name, value, len);
	default:
		return known ? 0 : adv_rs_error(ENOPROTOOPT);
	}
}

ADV_EXPORT int rsetsockopt(int socket, int level, int optname, const void *optval, socklen_t optlen)
{
	struct adv_rsocket *rs = adv_rs_begin(socket);
	int ret;

	if (!rs)
		return -1;
	pthread_mutex_lock(&rs->lock);
	ret = set_option(rs, level, optname, optval, optlen);
	pthread_mutex_unlock(&rs->lock);
	adv_rs_end(rs);
	return ret;
}

/* Stores as much of an option's value as fits. */
static int store_option(void *value, socklen_t *len, const void *from, size_t size)
{
	if (!value || !len)
		return adv_rs_error(EFAULT);
	if (*len > size)
		*len = (socklen_t)size;
	memcpy(value, from, *len);
	return 0;
}

static int give_int(void *value, socklen_t *len, int number)
{
	return store_option(value, len, &number, sizeof(number));
}

static int give_timeout(void *value, socklen_t *len, int64_t timeout_us)
{
	struct timeval tv = {timeout_us / 1000000, timeout_us % 1000000};

	return store_option(value, len, &tv, sizeof(tv));
}

static int take_error(struct adv_rsocket *rs)
{
	int err = rs->err;

	rs->err = 0;
	return err;
}

static int get_socket_option(struct adv_rsocket *rs, int name, void *value, socklen_t *len)
{
	const struct adv_rs_options *o = &rs->options;
	bool stream = rs->type == SOCK_STREAM;

	switch (name) {
	case SO_REUSEADDR:
		return give_int(value, len, o->reuseaddr);
	case SO_KEEPALIVE:
		return give_int(value, len, o->keepalive);
	case SO_OOBINLINE:
		return give_int(value, len, o->oobinline);
	case SO_BROADCAST:
		return give_int(value, len, o->broadcast);
	case SO_RCVBUF:
		return give_int(value, len, (int)o->rcvbuf);
	case SO_SNDBUF:
		return give_int(value, len, (int)o->sndbuf);
	case SO_LINGER:
		return store_option(value, len, &o->linger, sizeof(o->linger));
	case SO_RCVTIMEO:
		return give_timeout(value, len, o->recv_timeout_us);
	case SO_SNDTIMEO:
		return give_timeout(value, len, o->send_timeout_us);
	case SO_ERROR:
		return give_int(value, len, take_error(rs));
	case SO_TYPE:
		return give_int(value, len, rs->type);
	case SO_DOMAIN:
		return give_int(value, len, rs->domain);
	case SO_PROTOCOL:
		return give_int(value, len, stream ? IPPROTO_TCP : IPPROTO_UDP);
	case SO_ACCEPTCONN:
		return give_int(value, len, stream && rs->s.state == ADV_RS_LISTENING);
	default:
		return adv_rs_error(ENOPROTOOPT);
	}
}

/* Returns the active MTU of the id's port, bytes; DEFAULT_MSS if the id has no device. */
static int path_mtu(struct adv_rsocket *rs)
{
	struct ibv_port_attr attr;

	if (!rs->s.id || !rs->s.id->verbs ||
	    ibv_query_port(rs->s.id->verbs, rs->s.id->port_num, &attr))
		return DEFAULT_MSS;
	return 128 << attr.active_mtu;
}

static int tcp_state(const struct adv_rs_stream *s)
{
	if (s->state == ADV_RS_LISTENING)
		return TCP_LISTEN;
	if (adv_rs_state_opening(s->state))
		return TCP_SYN_SENT;
	if (s->state != ADV_RS_CONNECTED)
		return TCP_CLOSE;
	return !s->readable ? TCP_CLOSE_WAIT : !s->writable ? TCP_FIN_WAIT2 : TCP_ESTABLISHED;
}

static int get_tcp_option(struct adv_rsocket *rs, int name, void *value, socklen_t *len)
{
	const struct adv_rs_options *o = &rs->options;
	struct tcp_info info = {0};
	static const char congestion[16] = "rdma";

	if (rs->type != SOCK_STREAM)
		return adv_rs_error(ENOPROTOOPT);
	switch (name) {
	case TCP_NODELAY:
		return give_int(value, len, o->nodelay);
	case TCP_MAXSEG:
		return give_int(value, len, path_mtu(rs));
	case TCP_KEEPIDLE:
		return give_int(value, len, o->keepidle > 0 ? o->keepidle : 7200);
	case TCP_KEEPINTVL:
		return give_int(value, len, o->keepintvl);
	case TCP_KEEPCNT:
		return give_int(value, len, o->keepcnt);
	case TCP_CONGESTION:
		return store_option(value, len, congestion, sizeof(congestion));
	case TCP_INFO:
		info.tcpi_state = (uint8_t)tcp_state(&rs->s);
		info.tcpi_snd_mss = info.tcpi_rcv_mss = (uint32_t)path_mtu(rs);
		info.tcpi_snd_cwnd = o->sq_size;
		return store_option(value, len, &info, sizeof(info));
	default:
		return adv_rs_error(ENOPROTOOPT);
	}
}

/* Stores the paths of a connection as a value of RDMA_ROUTE. */
static int get_route(struct adv_rsocket *rs, void *value, socklen_t *len)
{
	const struct rdma_route *route;
	struct ibv_path_data *out = value;
	size_t count = 0;

	if (rs->type != SOCK_STREAM || !value || *len < sizeof(*out))
		return adv_rs_error(EINVAL);
	if (rs->s.route)
		return store_option(value, len, rs->s.route, rs->s.route_len);
	route = &rs->s.id->route;
	for (; count < (size_t)route->num_paths && (count + 1) * sizeof(*out) <= *len; count++) {
		const struct ibv_sa_path_rec *path = &route->path_rec[count];
		struct ibv_path_record *record = &out[count].path;

		memset(&out[count], 0, sizeof(out[count]));
		out[count].flags = path->preference;
		record->dgid = path->dgid;
		record->sgid = path->sgid;
		record->dlid = path->dlid;
		record->slid = path->slid;
		record->flowlabel_hoplimit =
			htobe32(be32toh(path->flow_label) << 8 | path->hop_limit);
		record->tclass = path->traffic_class;
		record->reversible_numpath = (uint8_t)(path->reversible << 7 | 1);
		record->pkey = path->pkey;
		record->qosclass_sl = htobe16(path->sl);
		record->mtu = (uint8_t)(path->mtu | 2 << 6); /* selector: exactly */
		record->rate = (uint8_t)(path->rate | 2 << 6);
		record->packetlifetime = (uint8_t)(path->packet_life_time | 2 << 6);
	}
	*len = (socklen_t)(count * sizeof(*out));
	return 0;
}

static int get_rdma_option(struct adv_rsocket *rs, int name, void *value, socklen_t *len)
{
	switch (name) {
	case RDMA_SQSIZE:
		return give_int(value, len, (int)rs->options.sq_size);
	case RDMA_RQSIZE:
		return give_int(value, len, (int)rs->options.rq_size);
	case RDMA_INLINE:
		return give_int(value, len, (int)rs->options.inline_size);
	case RDMA_IOMAPSIZE:
		return give_int(value, len, (int)rs->options.mappings);
	case RDMA_ROUTE:
		return get_route(rs, value, len);
	default:
		return adv_rs_error(ENOPROTOOPT);
	}
}

static int get_option(struct adv_rsocket *rs, int level, int name, void *value, socklen_t *len)
{
	bool own = name == SO_ERROR || name == SO_RCVBUF || name == SO_SNDBUF ||
		   name == SO_RCVTIMEO || name == SO_SNDTIMEO;

	if (rs->type == SOCK_DGRAM && level != SOL_RDMA && (level != SOL_SOCKET || !own))
		return adv_sys_getsockopt(rs->fd, level, name, value, len);
	switch (level) {
	case SOL_SOCKET:
		return get_socket_option(rs, name, value, len);
	case IPPROTO_TCP:
		return get_tcp_option(rs, name, value, len);
	case IPPROTO_IP:
		return name == IP_TOS ? give_int(value, len, rs->options.tos)
				      : adv_rs_error(ENOPROTOOPT);
	case IPPROTO_IPV6:
		if (name == IPV6_V6ONLY)
			return give_int(value, len, rs->options.v6only);
		return name == IPV6_TCLASS ? give_int(value, len, rs->options.tos)
					   : adv_rs_error(ENOPROTOOPT);
	case SOL_RDMA:
		return get_rdma_option(rs, name, value, len);
	default:
		return adv_rs_error(ENOPROTOOPT);
	}
}

ADV_EXPORT int rgetsockopt(int socket, int level, int optname, void *optval, socklen_t *optlen)
{
	struct adv_rsocket *rs = adv_rs_begin(socket);
	int ret;

	if (!rs)
		return -1;
	pthread_mutex_lock(&rs->lock);
	ret = get_option(rs, level, optname, optval, optlen);
	pthread_mutex_unlock(&rs->lock);
	adv_rs_end(rs);
	return ret;
}

ADV_EXPORT int rfcntl(int socket, int cmd, ...)
{
	struct adv_rsocket *rs = adv_rs_begin(socket);
	va_list args;
	int number = 0, ret = 0;

	if (!rs)
		return -1;
	if (cmd == F_SETFL || cmd == F_SETFD) {
		va_start(args, cmd);
		number = va_arg(args, int);
		va_end(args);
	}
	pthread_mutex_lock(&rs->lock);
	switch (cmd) {
	case F_GETFL:
		ret = rs->file_flags;
		break;
	case F_SETFL:
		rs->file_flags = O_RDWR | (number & (O_NONBLOCK | O_APPEND | O_ASYNC));
		break;
	case F_GETFD:
		ret = rs->fd_flags;
		break;
	case F_SETFD:
		rs->fd_flags = number & FD_CLOEXEC;
		break;
	default:
		ret = adv_rs_error(EOPNOTSUPP);
	}
	pthread_mutex_unlock(&rs->lock);
	adv_rs_end(rs);
	return ret;
}
