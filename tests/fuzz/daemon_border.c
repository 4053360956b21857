/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "daemon.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "runtime/keeper/carrier.h"
#include "runtime/steering/group.h"
#include "runtime/ucma/resolve.h"
#include "runtime/ucma/tcp.h"

struct border border;

int __wrap_clock_gettime(clockid_t clock, struct timespec *ts);
ssize_t __wrap_getrandom(void *to, size_t len, unsigned flags);
void __wrap_adv_given_refuse(int sock);

void border_open(void)
{
	memset(&border, 0, sizeof(border));
	border.now_ns = 1000000000ull;
	border.bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	border.still = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	FUZZ_CHECK(border.bell >= 0 && border.still >= 0);
}

void border_close(void)
{
	close(border.bell);
	close(border.still);
}

void border_ring(void)
{
	uint64_t n = 1;

	if (border.mads)
		FUZZ_CHECK(write(border.bell, &n, sizeof(n)) == sizeof(n));
	else
		(void)!read(border.bell, &n, sizeof(n));
}

/* ---- the clock ---- */

int __wrap_clock_gettime(clockid_t clock, struct timespec *ts)
{
	ts->tv_sec = (time_t)(border.now_ns / 1000000000u);
	ts->tv_nsec = (long)(border.now_ns % 1000000000u);
	return 0;
}

ssize_t __wrap_getrandom(void *to, size_t len, unsigned flags)
{
	memset(to, 0x5a, len);
	return (ssize_t)len;
}

/* As on an older kernel: any process can send descriptors. */
void __wrap_adv_given_refuse(int sock)
{
}

/* ---- the group of sockets ---- */

int adv_group_steer(int unlocked, const struct adv_gid_table *own, const struct adv_group_run *run,
		    unsigned runs)
{
	for (unsigned i = 0; i < runs; i++) {
		FUZZ_CHECK(run[i].first <= run[i].last && run[i].last < ADV_PREFIXES);
		FUZZ_CHECK(i == 0 || run[i - 1].last < run[i].first);
	}
	return 0;
}

int adv_group_grow(int founder, int *made)
{
	*made = fcntl(founder, F_DUPFD_CLOEXEC, 0);
	return *made < 0 ? errno : 0;
}

int adv_estate_send_socket(const struct adv_daemon *d, int fd)
{
	return 0;
}

void adv_group_deactivate(int fd)
{
}

int adv_carrier_queue(const struct adv_daemon *d)
{
	return d->table_fd;
}

int adv_carrier_renew(struct adv_daemon *d)
{
	return 0;
}

uint32_t adv_group_activate(int fd)
{
	return 1 << 20;
}

int adv_group_member(int fd, const struct adv_gid *group, uint32_t ifindex, bool join)
{
	if (!adv_gid_is_multicast(group))
		return EINVAL;
	if (ifindex > 4)
		return ENODEV;
	FUZZ_CHECK(join || border.memberships > 0);
	border.memberships += join ? 1u : -1u;
	return 0;
}

/* ---- QP1 ---- */

struct adv_qp1 {
	struct adv_qp1_counters counters;
	int v1_fd; /* never readable; -1: RoCE v1 is not started */
};

struct adv_qp1 *adv_qp1_create(int socket, _Atomic uint16_t *sender)
{
	struct adv_qp1 *q = calloc(1, sizeof(*q));

	if (q)
		q->v1_fd = -1;
	return q;
}

void adv_qp1_destroy(struct adv_qp1 *q)
{
	if (q->v1_fd >= 0)
		close(q->v1_fd);
	free(q);
}

int adv_qp1_start_v1(struct adv_qp1 *q)
{
	if (q->v1_fd < 0)
		q->v1_fd = eventfd(0, EFD_CLOEXEC);
	return q->v1_fd < 0 ? errno : 0;
}

int adv_qp1_v1_fd(const struct adv_qp1 *q)
{
	return q->v1_fd;
}

bool adv_qp1_needs_mac(const struct adv_qp1 *q, const struct adv_path *path)
{
	return path->v1;
}

int adv_qp1_set_gids(struct adv_qp1 *q, const struct adv_gid_table *gids)
{
	return 0;
}

unsigned adv_qp1_receive(struct adv_qp1 *q, unsigned budget, adv_qp1_rx_fn *fn, void *user)
{
	unsigned n;

	for (n = 0; n < budget && border.mads; n++) {
		struct adv_cm_mad mad = border.mad[0];
		struct adv_rx_meta meta = {.sgid = mad.path.sgid,
					   .dgid = mad.path.dgid,
					   .slot = mad.path.v1 ? ADV_RX_V1 : 0};

		border.mads--;
		memmove(&border.mad[0], &border.mad[1], border.mads * sizeof(mad));
		q->counters.rx++;
		fn(user, &meta, mad.data);
	}
	border_ring();
	return n;
}

int adv_qp1_bell_fd(const struct adv_qp1 *q)
{
	return -1;
}

void adv_qp1_still(struct adv_qp1 *q)
{
}

int adv_qp1_error_fd(const struct adv_qp1 *q)
{
	return border.still;
}

void adv_qp1_errors(struct adv_qp1 *q, unsigned budget, adv_qp1_error_fn *fn, void *user)
{
}

bool adv_qp1_has_room(const struct adv_qp1 *q)
{
	return !border.full;
}

void adv_qp1_send(struct adv_qp1 *q, const struct adv_cm_mad *mads, unsigned count)
{
	FUZZ_CHECK(!border.full && count <= ADV_QP1_BATCH);
	q->counters.tx += count;
	for (unsigned i = 0; i < count; i++)
		if (border.mads < BORDER_MADS)
			border.mad[border.mads++] = mads[i];
	border_ring();
}

int adv_qp1_send_fd(const struct adv_qp1 *q)
{
	return border.bell;
}

bool adv_qp1_flush(struct adv_qp1 *q)
{
	border.full = false;
	return true;
}

/* The program's steps lose and change packets, not fault plans. */
int adv_qp1_set_faults(struct adv_qp1 *q, adv_fault_link_decide_fn *fn, void *user)
{
	return 0;
}

/* As if QP1 had the maximum number of captures. */
bool adv_qp1_capture(struct adv_qp1 *q, int fd)
{
	return false;
}

uint64_t adv_qp1_deadline(const struct adv_qp1 *q)
{
	return UINT64_MAX;
}

const struct adv_qp1_counters *adv_qp1_counters(const struct adv_qp1 *q)
{
	return &q->counters;
}

/* ---- routes: the last byte of an address selects the result ---- */

struct adv_resolver {
	int asked;
};

struct adv_resolver *adv_resolver_create(void)
{
	return calloc(1, sizeof(struct adv_resolver));
}

void adv_resolver_destroy(struct adv_resolver *r)
{
	free(r);
}

int adv_resolve_way(struct adv_resolver *r, const struct adv_gid *to, const struct adv_gid *source,
		    uint32_t ifindex, struct adv_ip_route *way)
{
	bool ipv4 = adv_gid_is_ipv4(to);

	memset(way, 0, sizeof(*way));
	if (to->raw[15] >= 200)
		return ENETUNREACH;
	if (source && adv_gid_is_ipv4(source) != ipv4)
		return EINVAL;
	way->ifindex = ifindex ? ifindex : 1;
	way->next_hop = *to;
	way->local = to->raw[15] < 100;
	way->multicast = adv_gid_is_multicast(to);
	way->has_source = true;
	if (source)
		way->source = *source;
	else if (ipv4)
		way->source = (struct adv_gid){{[10] = 0xff, [11] = 0xff, 127, 0, 0, 1}};
	else
		way->source = (struct adv_gid){{[15] = 1}};
	return 0;
}

enum adv_neighbour adv_resolve_neighbour(struct adv_resolver *r, const struct adv_ip_route *way)
{
	switch (way->next_hop.raw[15]) {
	case 100:
		return r->asked++ % 8 == 7 ? ADV_NEIGHBOUR_KNOWN : ADV_NEIGHBOUR_ASKED;
	case 101:
		return r->asked ? ADV_NEIGHBOUR_FAILED : ADV_NEIGHBOUR_NONE;
	case 102:
		return ADV_NEIGHBOUR_ASKED;
	default:
		return ADV_NEIGHBOUR_KNOWN;
	}
}

enum adv_neighbour adv_resolve_mac(struct adv_resolver *r, const struct adv_ip_route *way,
				   uint8_t mac[6])
{
	memset(mac, 2, 6);
	return adv_resolve_neighbour(r, way);
}

void adv_resolve_probe_neighbour(struct adv_resolver *r, const struct adv_gid *to,
				 const struct adv_ip_route *way)
{
	r->asked++;
}

uint32_t adv_resolve_interface_flags(struct adv_resolver *r, uint32_t ifindex)
{
	return ifindex == 2 ? 0x1 : 0x1049; /* IFF_UP, _LOOPBACK, _RUNNING, _MULTICAST */
}

bool adv_resolve_is_own(struct adv_resolver *r, const struct adv_gid *gid, uint32_t ifindex)
{
	return gid->raw[15] < 100;
}

/* ---- TCP: sockets that reach nobody ---- */

int adv_tcp_open(struct adv_cm_addr *local, bool own_family)
{
	static uint16_t next;

	if (!local->port)
		local->port = (uint16_t)(40000 + next++ % 8);
	return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

void adv_tcp_set_tos(int fd, sa_family_t family, uint8_t tos)
{
}

void adv_tcp_limit_rest(int fd)
{
}

/* Every other connection is refused later, by the event of a socket without a peer. */
int adv_tcp_connect(int fd, const struct adv_cm_addr *remote)
{
	return remote->port % 2 ? ECONNREFUSED : 0;
}

int adv_tcp_accept(struct adv_spare *spare, int fd)
{
	errno = EAGAIN;
	return -1;
}

bool adv_tcp_addresses(int fd, struct adv_cm_addr *local, struct adv_cm_addr *remote)
{
	return false;
}

int adv_tcp_error(int fd)
{
	return 0;
}
