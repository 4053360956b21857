/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The sockets of the emulator: programs attach to their host's port, and tools send requests. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "fabric/emulator/internal.h"

#define EVENTS	   64
#define PROGRAMS   4096 /* connections at a time */
#define QUEUE	   64
#define ANSWER_FDS 3

/* The kinds of epoll_event.data.u64, in its low bits; 0: the address of a connection. */
enum {
	SOURCE_CONNECTION,
	SOURCE_LISTENER,
	SOURCE_HOST_LISTENER,
	SOURCE_BELL,
	SOURCE_PLACED, /* with the address of a struct emulator_placed */
	SOURCE_MASK = 7
};

static int watch_fd(struct adv_emulator *e, int fd, uint64_t data)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u64 = data};

	return epoll_ctl(e->epoll, EPOLL_CTL_ADD, fd, &event) < 0 ? errno : 0;
}

/* ---- answers ---- */

static void answer_program(struct emulator_program *p, struct adv_port_message *m, const int *fd,
			   unsigned fds)
{
	/* A connection that does not read its answers gets none. */
	(void)adv_port_send(p->sock, m, fd, fds);
}

static void close_all(int *fd, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (fd[i] >= 0)
			close(fd[i]);
}

/* ---- requests ---- */

static void serve_attach(struct adv_emulator *e, struct emulator_program *p,
			 struct adv_port_message *m)
{
	int fd[ADV_PORT_FDS] = {-1, -1, e->time.fd};

	m->error = (uint32_t)adv_emulator_attach(e, p, fd);
	if (!m->error)
		m->error = (uint32_t)adv_emulator_claim(e, p, m->first, m->count);
	if (!m->error) /* before the program looks at its clock */
		adv_emulator_time_look(&e->time, adv_fabric_next(e->config.fabric), adv_clock_ns(),
				       true);
	m->place = e->place;
	m->place.host = p->host;
	answer_program(p, m, fd, m->error ? 0 : ADV_PORT_FDS);
	close_all(fd, ADV_PORT_TIME);
	if (!m->error)
		adv_info("process %d is attached to host h%u", (int)p->pid, p->host);
}

static void serve_enter(struct adv_emulator *e, struct emulator_program *p,
			struct adv_port_message *m)
{
	const struct adv_network_host *host;
	struct emulator_placed *placed;
	int fd[ANSWER_FDS];

	m->error = (uint32_t)adv_emulator_place(e, p->pid, m, &placed);
	if (placed && watch_fd(e, placed->pidfd, (uint64_t)(uintptr_t)placed | SOURCE_PLACED))
		adv_emulator_unplace(e, placed);
	if (m->error) {
		answer_program(p, m, NULL, 0);
		return;
	}
	host = &e->network.host[m->place.host];
	fd[0] = host->net;
	fd[1] = host->uts;
	fd[2] = e->network.user;
	answer_program(p, m, fd, e->network.user >= 0 ? 3 : 2);
}

static void serve_status(struct adv_emulator *e, struct emulator_program *p,
			 struct adv_port_message *m)
{
	int fd = adv_emulator_state(e);

	m->error = fd < 0 ? (uint32_t)errno : 0;
	answer_program(p, m, &fd, fd < 0 ? 0 : 1);
	if (fd >= 0)
		close(fd);
}

static void serve_down(struct adv_emulator *e, struct emulator_program *p, int *fd)
{
	if (e->down)
		return;
	e->down = true;
	e->down_sock = dup(p->sock);
	e->report_fd = *fd;
	*fd = -1;
}

void adv_emulator_answer_down(struct adv_emulator *e, int error)
{
	struct adv_port_message m = {.type = ADV_PORT_DOWN, .error = (uint32_t)error};
	struct emulator_program p = {.sock = e->down_sock};

	if (e->down_sock < 0)
		return;
	answer_program(&p, &m, NULL, 0);
	close(e->down_sock);
	e->down_sock = -1;
}

static void serve_capture(struct adv_emulator *e, struct emulator_program *p,
			  struct adv_port_message *m)
{
	int fd = -1;

	m->error = (uint32_t)adv_emulator_capture(e, p, m, &fd);
	answer_program(p, m, &fd, m->error ? 0 : 1);
	if (fd >= 0)
		close(fd);
}

static void serve_request(struct adv_emulator *e, struct emulator_program *p,
			  struct adv_port_message *m, int *fd)
{
	switch ((enum adv_port_type)m->type) {
	case ADV_PORT_ATTACH:
		serve_attach(e, p, m);
		return;
	case ADV_PORT_CLAIM:
		if (adv_emulator_claim(e, p, m->first, m->count))
			p->closing = true;
		return;
	case ADV_PORT_ENTER:
		serve_enter(e, p, m);
		return;
	case ADV_PORT_STATUS:
		serve_status(e, p, m);
		return;
	case ADV_PORT_DOWN:
		serve_down(e, p, fd);
		return;
	case ADV_PORT_CAPTURE:
		serve_capture(e, p, m);
		return;
	case ADV_PORT_CABLE:
		m->error = (uint32_t)adv_emulator_change_cable(e, m);
		answer_program(p, m, NULL, 0);
		return;
	}
	m->error = EOPNOTSUPP;
	answer_program(p, m, NULL, 0);
}

static void on_connection(struct adv_emulator *e, struct emulator_program *p)
{
	struct adv_port_message m;
	int fd = -1;

	if (p->closing || adv_port_receive(p->sock, &m, &fd, 1, false)) {
		close_all(&fd, 1);
		adv_emulator_drop(e, p);
		return;
	}
	serve_request(e, p, &m, &fd);
	close_all(&fd, 1);
	if (p->closing)
		adv_emulator_drop(e, p);
}

/* ---- connections ---- */

static void accept_connection(struct adv_emulator *e, int listener, uint32_t host)
{
	int sock = adv_spare_accept(&e->spare, listener);
	struct emulator_program *p = sock < 0 ? NULL : calloc(1, sizeof(*p));
	struct ucred peer = {.uid = (uid_t)-1};
	socklen_t len = sizeof(peer);

	if (sock < 0)
		return;
	if (!p || getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 ||
	    (peer.uid != geteuid() && peer.uid != 0) || e->programs == PROGRAMS ||
	    watch_fd(e, sock, (uint64_t)(uintptr_t)p)) {
		close(sock);
		free(p);
		return;
	}
	p->emulator = e;
	p->host = host;
	p->sock = sock;
	p->pid = peer.pid;
	p->room = -1;
	e->programs++;
	adv_list_add_tail(host == UINT32_MAX ? &e->tools : &e->host[host].programs, &p->node);
}

struct listen_call {
	struct adv_emulator *emulator;
	uint32_t host;
};

/* Opens a listening socket with the emulator's name in the current network namespace. */
static int open_listener(void)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int n = snprintf(a.sun_path + 1, sizeof(a.sun_path) - 1, "%s-%u", ADV_PORT_NAME,
			 (unsigned)geteuid());
	socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int error;

	if (fd < 0)
		return -1;
	if (bind(fd, (const struct sockaddr *)&a, len) == 0 && listen(fd, QUEUE) == 0)
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

/* Within the namespace of a host. */
static int listen_on_host(void *user)
{
	const struct listen_call *call = user;
	struct adv_emulator *e = call->emulator;
	struct emulator_host *h = &e->host[call->host];
	int error;

	h->listener = open_listener();
	if (h->listener < 0)
		return errno;
	h->bell = adv_bell_open(&h->bell_name);
	if (h->bell < 0)
		return errno;
	error = watch_fd(e, h->listener, (uint64_t)call->host << 3 | SOURCE_HOST_LISTENER);
	return error ? error : watch_fd(e, h->bell, (uint64_t)call->host << 3 | SOURCE_BELL);
}

int adv_emulator_listen_here(struct adv_emulator *e, char why[ADV_EMULATOR_WHY])
{
	e->listener = open_listener();
	if (e->listener >= 0)
		return watch_fd(e, e->listener, SOURCE_LISTENER);
	if (errno == EADDRINUSE)
		snprintf(why, ADV_EMULATOR_WHY,
			 "a fabric of this user runs already in this network namespace; end it "
			 "with adverb fabric down");
	else
		snprintf(why, ADV_EMULATOR_WHY, "no socket: %s", strerror(errno));
	return errno ? errno : EIO;
}

int adv_emulator_listen(struct adv_emulator *e, char why[ADV_EMULATOR_WHY])
{
	for (uint32_t i = 0; i < e->place.hosts; i++) {
		struct listen_call call = {e, i};
		int error = adv_network_within(&e->network, i, listen_on_host, &call);

		if (error) {
			snprintf(why, ADV_EMULATOR_WHY, "host h%u: %s", i, strerror(error));
			return error;
		}
	}
	return 0;
}

/* ---- events ---- */

static void on_event(struct adv_emulator *e, const struct epoll_event *event)
{
	uint64_t data = event->data.u64;
	uint32_t host = (uint32_t)(data >> 3);

	switch (data & SOURCE_MASK) {
	case SOURCE_LISTENER:
		accept_connection(e, e->listener, UINT32_MAX);
		break;
	case SOURCE_HOST_LISTENER:
		accept_connection(e, e->host[host].listener, host);
		break;
	case SOURCE_BELL:
		adv_bell_still(e->host[host].bell);
		break;
	case SOURCE_PLACED:
		adv_emulator_unplace(
			e, (struct emulator_placed *)(uintptr_t)(data & ~(uint64_t)SOURCE_MASK));
		break;
	default:
		on_connection(e, (struct emulator_program *)(uintptr_t)data);
	}
}

void adv_emulator_serve(struct adv_emulator *e, uint64_t wait)
{
	struct epoll_event events[EVENTS];
	struct timespec ts = adv_clock_timespec(wait);
	int n = epoll_pwait2(e->epoll, events, EVENTS, wait == UINT64_MAX ? NULL : &ts, NULL);

	for (int i = 0; i < n; i++)
		on_event(e, &events[i]);
}

void adv_emulator_close(struct adv_emulator *e)
{
	adv_list_for_each_safe(struct emulator_placed, placed, &e->placed, node)
		adv_emulator_unplace(e, placed);
	adv_list_for_each_safe(struct emulator_program, p, &e->tools, node)
		adv_emulator_drop(e, p);
	for (uint32_t i = 0; e->host && i < e->place.hosts; i++) {
		struct emulator_host *h = &e->host[i];

		adv_list_for_each_safe(struct emulator_program, p, &h->programs, node)
			adv_emulator_drop(e, p);
		close_all(&h->listener, 1);
		close_all(&h->bell, 1);
		free(h->owner);
	}
	close_all(&e->listener, 1);
	close_all(&e->epoll, 1);
	close_all(&e->report_fd, 1);
	close_all(&e->down_sock, 1);
}
