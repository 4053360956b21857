/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "runtime/preload/netlink_socket.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/sys.h"
#include "runtime/preload/foreign.h"
#include "runtime/preload/query.h"
#include "runtime/preload/nldev.h"

/* Most stand-ins; if there are more, the oldest ones get no more answers. */
#define SOCKETS 64
#define ROOM	(1 << 20)
/* Highest port to try if the port of the process ID is in use; lower ones follow. */
#define OTHER_PORTS 0xfffff000u

struct stand_in {
	_Atomic uint64_t inode; /* 0: free; also read without the lock */
	uint64_t age;
	uint32_t port; /* 0: not bound */
	uint8_t *rest; /* the part of answers that does not fit into the socket */
	size_t len;
	size_t at;
};

static struct stand_in sockets[SOCKETS];
static atomic_bool any;
static uint64_t ages;
static uint32_t ports;

/* A lock, held for a few sends at most. Its value is the holder's process ID, so that a child of
 * fork() does not wait for a thread that only the parent has. */
static _Atomic uint32_t lock;

static void lock_sockets(void)
{
	uint32_t me = (uint32_t)syscall(SYS_getpid);

	for (;;) {
		uint32_t who = lock;

		if (who != me && atomic_compare_exchange_strong(&lock, &who, me))
			return;
		sched_yield();
	}
}

static void unlock_sockets(void)
{
	lock = 0;
}

static uint64_t inode_of(int fd)
{
	struct stat st;

	return syscall(SYS_fstat, fd, &st) == 0 && S_ISSOCK(st.st_mode) ? st.st_ino : 0;
}

/* Finds the stand-in of a descriptor. Call it with the lock held. NULL: not a stand-in. */
static struct stand_in *find_socket(int fd)
{
	uint64_t inode = inode_of(fd);

	for (unsigned i = 0; inode && i < SOCKETS; i++)
		if (sockets[i].inode == inode)
			return &sockets[i];
	return NULL;
}

/* Does not acquire the lock: a signal handler may call this function while the interrupted thread
 * holds the lock. */
bool adv_netlink_is(int fd)
{
	int saved = errno;
	uint64_t inode;
	bool is = false;

	if (!atomic_load_explicit(&any, memory_order_relaxed))
		return false;
	inode = inode_of(fd);
	for (unsigned i = 0; inode && i < SOCKETS && !is; i++)
		is = sockets[i].inode == inode;
	errno = saved;
	return is;
}

/* ---- creation ---- */

static void note_socket(int fd)
{
	struct stand_in *s = &sockets[0];

	lock_sockets();
	for (unsigned i = 0; i < SOCKETS; i++)
		if (sockets[i].age < s->age)
			s = &sockets[i];
	free(s->rest);
	s->rest = NULL;
	s->len = s->at = 0;
	s->port = 0;
	s->age = ++ages;
	s->inode = inode_of(fd);
	any = true;
	unlock_sockets();
}

/* Connects the socket to itself, under a name that the kernel chooses. Drops datagrams that other
 * processes sent earlier. */
static int connect_to_itself(int fd)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	socklen_t len = sizeof(name);
	const int room = ROOM;
	char byte;

	(void)adv_sys_setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	if (adv_sys_bind(fd, &name, sizeof(name.sun_family)) < 0 ||
	    adv_sys_getsockname(fd, &name, &len) < 0 || adv_sys_connect(fd, &name, len) < 0)
		return -1;
	while (adv_sys_recvfrom(fd, &byte, sizeof(byte), MSG_DONTWAIT, NULL, NULL) >= 0)
		;
	return 0;
}

int adv_netlink_open(int type)
{
	int flags = type & (SOCK_CLOEXEC | SOCK_NONBLOCK), kind = type & ~flags, fd;

	if (kind != SOCK_RAW && kind != SOCK_DGRAM) {
		errno = ESOCKTNOSUPPORT;
		return -1;
	}
	adv_foreign_check();
	fd = adv_sys_socket(AF_UNIX, SOCK_DGRAM | flags, 0);
	if (fd < 0)
		return -1;
	if (connect_to_itself(fd) < 0) {
		int saved = errno;

		adv_sys_close(fd);
		errno = saved;
		return -1;
	}
	note_socket(fd);
	return fd;
}

/* ---- the name of a stand-in ---- */

static bool is_port_taken(uint32_t port)
{
	for (unsigned i = 0; i < SOCKETS; i++)
		if (sockets[i].inode && sockets[i].port == port)
			return true;
	return false;
}

static uint32_t free_port(void)
{
	uint32_t port = (uint32_t)syscall(SYS_getpid);

	while (is_port_taken(port))
		port = OTHER_PORTS - ++ports % OTHER_PORTS;
	return port;
}

int adv_netlink_bind(int fd, uint32_t port)
{
	struct stand_in *s;
	int error = 0;

	lock_sockets();
	s = find_socket(fd);
	if (!s)
		error = EBADF;
	else if (s->port && port && port != s->port)
		error = EINVAL;
	else if (!s->port && port && is_port_taken(port))
		error = EADDRINUSE;
	else if (!s->port)
		s->port = port ? port : free_port();
	unlock_sockets();
	return error;
}

void adv_netlink_name(int fd, struct sockaddr_nl *name)
{
	const struct stand_in *s;

	*name = (struct sockaddr_nl){.nl_family = AF_NETLINK};
	lock_sockets();
	s = find_socket(fd);
	if (s)
		name->nl_pid = s->port;
	unlock_sockets();
}

/* ---- requests and answers ---- */

/* Returns the length of the messages that go into one datagram. */
static size_t next_datagram(const uint8_t *p, size_t len)
{
	size_t all = 0;
	struct nlmsghdr head;

	while (len - all >= sizeof(head)) {
		size_t whole;

		memcpy(&head, p + all, sizeof(head));
		whole = NLMSG_ALIGN((size_t)head.nlmsg_len);
		if (all && (!(head.nlmsg_flags & NLM_F_MULTI) || all + whole > ADV_NLDEV_LONGEST))
			break;
		all += whole;
		if (!(head.nlmsg_flags & NLM_F_MULTI))
			break;
	}
	return all;
}

/* Sends waiting answers until the socket is full. Call it with the lock held. 0 or errno. */
static int send_waiting(struct stand_in *s, int fd)
{
	while (s->at < s->len) {
		size_t n = next_datagram(s->rest + s->at, s->len - s->at);

		if (adv_sys_sendto(fd, s->rest + s->at, n, MSG_DONTWAIT | MSG_NOSIGNAL, NULL, 0) <
		    0)
			return errno == EAGAIN ? 0 : errno;
		s->at += n;
	}
	free(s->rest);
	s->rest = NULL;
	s->len = s->at = 0;
	return 0;
}

void adv_netlink_received(int fd)
{
	int saved = errno;
	struct stand_in *s;

	lock_sockets();
	s = find_socket(fd);
	if (s)
		(void)send_waiting(s, fd);
	unlock_sockets();
	errno = saved;
}

/* Appends an answer to the waiting answers; its memory then belongs to the stand-in. Call it with
 * the lock held. 0 or errno. */
static int append_answer(struct stand_in *s, int fd, struct adv_netlink *answer)
{
	uint8_t *all;

	if (!s->rest) {
		s->rest = answer->data;
		s->len = answer->len;
		s->at = 0;
		return send_waiting(s, fd);
	}
	all = answer->len > ADV_NETLINK_MOST - s->len ? NULL
						      : realloc(s->rest, s->len + answer->len);
	if (all) {
		memcpy(all + s->len, answer->data, answer->len);
		s->rest = all;
		s->len += answer->len;
	}
	free(answer->data);
	return all ? send_waiting(s, fd) : ENOBUFS;
}

static bool query_device(void *user, struct adv_contents *contents)
{
	return adv_query_contents(contents);
}

static int query_objects(void *user, enum adv_resource_kind kind, const char *device,
			 adv_resource_fn *fn, void *fn_user)
{
	return adv_query_resources(kind, device, fn, fn_user);
}

int adv_netlink_request(int fd, const void *request, size_t len)
{
	const struct adv_nldev_source source = {
		.device = query_device, .resources = query_objects, .keys = geteuid() == 0};
	struct adv_netlink answer = {0};
	struct sockaddr_nl name;
	struct stand_in *s;
	int error = adv_netlink_bind(fd, 0);

	if (error)
		return error;
	adv_netlink_name(fd, &name);
	adv_nldev_answer(&source, request, len, name.nl_pid, &answer);
	if (answer.failed || !answer.len) {
		free(answer.data);
		return answer.failed ? ENOBUFS : 0;
	}
	lock_sockets();
	s = find_socket(fd);
	if (s)
		error = append_answer(s, fd, &answer);
	else
		free(answer.data);
	unlock_sockets();
	return error;
}
