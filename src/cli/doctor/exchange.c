/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * adverb doctor: requests a connection from a port without a listener, as a program would, and
 * waits for the rejection. So the request and the answer have passed UDP port 4791 of both
 * machines.
 */
#include "cli/doctor/doctor.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/command/environment.h"
#include "nic/wire/packet.h"

#define RESOLVE_MS  2000
#define ANSWER_MS   5000
#define ICMP_MS	    300
#define UNUSED_PORT 1 /* tcpmux: no program of this century listens there */

/* CLOSED: ICMP has reported that the peer's UDP port 4791 is closed. */
enum result { ANSWERED, UNREACHABLE, CLOSED, UNANSWERED };

/* The functions of Adverb's librdmacm, which this program does not link. */
struct rdmacm {
	__typeof__(rdma_create_event_channel) *create_event_channel;
	__typeof__(rdma_destroy_event_channel) *destroy_event_channel;
	__typeof__(rdma_create_id) *create_id;
	__typeof__(rdma_destroy_id) *destroy_id;
	__typeof__(rdma_resolve_addr) *resolve_addr;
	__typeof__(rdma_resolve_route) *resolve_route;
	__typeof__(rdma_connect) *connect;
	__typeof__(rdma_get_cm_event) *get_cm_event;
	__typeof__(rdma_ack_cm_event) *ack_cm_event;
};

/* Stores the address of a function. POSIX lets dlsym() return functions as void pointers. */
static bool find_function(void *library, const char *name, void *function)
{
	void *address = dlsym(library, name);

	memcpy(function, &address, sizeof(address));
	return address != NULL;
}

/* Loads Adverb's libraries. False with the reason from the dynamic linker in why[]. */
static bool load_libraries(struct rdmacm *r, char *why, size_t size)
{
	char folder[PATH_MAX], path[2 * PATH_MAX];
	void *library = NULL;

	(void)adv_cli_find_libraries(folder);
	snprintf(path, sizeof(path), "%s/libibverbs.so.1", folder);
	/* librdmacm.so.1 then uses this library instead of the system's. */
	if (dlopen(path, RTLD_NOW | RTLD_GLOBAL)) {
		snprintf(path, sizeof(path), "%s/librdmacm.so.1", folder);
		library = dlopen(path, RTLD_NOW);
	}
	if (library &&
	    find_function(library, "rdma_create_event_channel", &r->create_event_channel) &&
	    find_function(library, "rdma_destroy_event_channel", &r->destroy_event_channel) &&
	    find_function(library, "rdma_create_id", &r->create_id) &&
	    find_function(library, "rdma_destroy_id", &r->destroy_id) &&
	    find_function(library, "rdma_resolve_addr", &r->resolve_addr) &&
	    find_function(library, "rdma_resolve_route", &r->resolve_route) &&
	    find_function(library, "rdma_connect", &r->connect) &&
	    find_function(library, "rdma_get_cm_event", &r->get_cm_event) &&
	    find_function(library, "rdma_ack_cm_event", &r->ack_cm_event))
		return true;
	snprintf(why, size, "%s", dlerror());
	return false;
}

/* Waits for the next event. Returns its kind with *status; -1: none within `ms`. */
static int next_event(const struct rdmacm *r, struct rdma_event_channel *channel, int ms,
		      int *status)
{
	struct pollfd p = {.fd = channel->fd, .events = POLLIN};
	struct rdma_cm_event *event;
	int kind;

	if (poll(&p, 1, ms) != 1 || r->get_cm_event(channel, &event) != 0)
		return -1;
	kind = (int)event->event;
	*status = event->status;
	r->ack_cm_event(event);
	return kind;
}

/* Requests a connection. ANSWERED: the peer's connection manager has rejected it. Otherwise the
 * reason is in why[]. */
static enum result request_connection(const struct rdmacm *r, struct rdma_event_channel *channel,
				      struct rdma_cm_id *id, struct sockaddr *to, char *why,
				      size_t size)
{
	/* No packet of this queue pair is ever sent: the request is rejected. */
	struct rdma_conn_param param = {.qp_num = 2};
	int status = 0, kind;

	if (r->resolve_addr(id, NULL, to, RESOLVE_MS) != 0 ||
	    next_event(r, channel, 2 * RESOLVE_MS, &status) != RDMA_CM_EVENT_ADDR_RESOLVED) {
		snprintf(why, size, "the address cannot be resolved: %s",
			 strerror(status ? -status : errno));
		return UNREACHABLE;
	}
	if (r->resolve_route(id, RESOLVE_MS) != 0 ||
	    next_event(r, channel, 2 * RESOLVE_MS, &status) != RDMA_CM_EVENT_ROUTE_RESOLVED) {
		snprintf(why, size, "there is no route: %s", strerror(status ? -status : errno));
		return UNREACHABLE;
	}
	if (r->connect(id, &param) != 0) {
		snprintf(why, size, "rdma_connect: %s", strerror(errno));
		return UNANSWERED;
	}
	kind = next_event(r, channel, ANSWER_MS, &status);
	if (kind == RDMA_CM_EVENT_REJECTED)
		return ANSWERED;
	if (kind == RDMA_CM_EVENT_UNREACHABLE && status == -ECONNREFUSED)
		return CLOSED;
	snprintf(why, size, "no answer within %d s", ANSWER_MS / 1000);
	return UNANSWERED;
}

static void set_port(struct sockaddr *to, unsigned port)
{
	if (to->sa_family == AF_INET)
		((struct sockaddr_in *)(void *)to)->sin_port = htons((uint16_t)port);
	else
		((struct sockaddr_in6 *)(void *)to)->sin6_port = htons((uint16_t)port);
}

/* True if the machine reports by ICMP that no socket has its port 4791. */
static bool is_port_closed(struct sockaddr *to, socklen_t len)
{
	int fd = socket(to->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0), error = 0;
	struct pollfd p = {.fd = fd, .events = 0};
	socklen_t error_len = sizeof(error);

	set_port(to, ADV_ROCE_UDP_PORT);
	/* One byte is no RoCE packet: an existing socket drops it. */
	if (fd >= 0 && connect(fd, to, len) == 0 && send(fd, "", 1, 0) == 1 &&
	    poll(&p, 1, ICMP_MS) == 1)
		(void)getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &error_len);
	if (fd >= 0)
		close(fd);
	return error == ECONNREFUSED;
}

/* Sends a request to an address and reports the result as `check`. False: no answer. */
static bool exchange_requests(struct adv_doctor *d, const struct rdmacm *r, const char *check,
			      const char *name, struct sockaddr *to, socklen_t len)
{
	struct rdma_event_channel *channel = r->create_event_channel();
	uint64_t start = adv_clock_ns();
	struct rdma_cm_id *id = NULL;
	enum result result = UNANSWERED;
	char why[256] = "rdma_create_id fails: ADVERB_LOG=error prints the reason";

	set_port(to, UNUSED_PORT);
	if (channel && r->create_id(channel, &id, NULL, RDMA_PS_TCP) == 0)
		result = request_connection(r, channel, id, to, why, sizeof(why));
	if (id)
		r->destroy_id(id);
	if (channel)
		r->destroy_event_channel(channel);
	if (result == ANSWERED)
		adv_doctor_report(d, ADV_GOOD, check, NULL,
				  "the connection manager of %s answers, after %.1f ms", name,
				  (double)(adv_clock_ns() - start) / 1e6);
	else if (result == UNREACHABLE)
		adv_doctor_report(d, ADV_BAD, check,
				  "check the address, the route (ip route get ADDRESS) and the "
				  "neighbour (ip neigh)",
				  "%s: %s", name, why);
	else if (result == CLOSED || is_port_closed(to, len))
		adv_doctor_report(d, ADV_BAD, check,
				  "start a program there with adverb run, or its adverbd: it ends "
				  "with the last program (adverbd --linger, adverbd.socket)",
				  "%s has no daemon: its UDP port 4791 is closed", name);
	else
		adv_doctor_report(d, ADV_BAD, check,
				  "permit UDP port 4791 in the firewalls of both machines and "
				  "between them (nft list ruleset), in both directions",
				  "%s: %s; its UDP port 4791 is not reported as closed", name, why);
	return result == ANSWERED;
}

static void exchange_with_peer(struct adv_doctor *d, const struct rdmacm *r, const char *peer)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_DGRAM};
	struct addrinfo *found = NULL;
	int error = getaddrinfo(peer, NULL, &hints, &found);

	if (error)
		adv_doctor_report(d, ADV_BAD, "peer", "use an IP address, or a name in the DNS",
				  "%s: %s", peer, gai_strerror(error));
	else if (exchange_requests(d, r, "peer", peer, found->ai_addr, found->ai_addrlen))
		adv_doctor_check_path(d, found->ai_addr, found->ai_addrlen);
	if (found)
		freeaddrinfo(found);
}

void adv_doctor_check_exchange(struct adv_doctor *d, const char *peer)
{
	struct rdmacm r;
	char why[512];

	if (!d->own_len)
		return;
	if (!load_libraries(&r, why, sizeof(why))) {
		adv_doctor_report(d, ADV_BAD, "exchange", NULL, "%s", why);
		return;
	}
	(void)exchange_requests(d, &r, "itself", "this machine", (struct sockaddr *)&d->own,
				d->own_len);
	if (peer)
		exchange_with_peer(d, &r, peer);
}
