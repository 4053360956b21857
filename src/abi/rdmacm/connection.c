/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "abi/rdmacm/connection.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/log.h"
#include "base/sys.h"
#include "runtime/control/control.h"
#include "runtime/control/forks.h"
#include "abi/rdmacm/device.h"

#define ANSWER_WAIT_MS                                                                             \
	20000 /* a busy machine may delay the daemon's answer; after this time the daemon hangs */

static pthread_mutex_t current_lock = PTHREAD_MUTEX_INITIALIZER;
static struct adv_rdma_connection *current;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

/* Closes the child's copy of the socket: the daemon then notices when the parent closes its copy.
 * The channels' sockets belong to the application and stay open. */
static void after_fork_in_child(void)
{
	adv_forks_after_in_child();
	pthread_mutex_init(&current_lock, NULL);
	adv_rdma_device_after_fork();
	if (!current)
		return;
	adv_sys_close(current->sock);
	pthread_mutex_init(&current->lock, NULL);
	current->dead = true;
	current->foreign = true;
	current = NULL;
}

static void register_fork_handler(void)
{
	pthread_atfork(adv_forks_before, adv_forks_after_in_parent, after_fork_in_child);
}

/* Locks `current` and the references. Forks wait, as only the socket of `current` is known to the
 * handler above. */
static void lock_current(void)
{
	pthread_once(&fork_once, register_fork_handler);
	adv_forks_delay();
	pthread_mutex_lock(&current_lock);
}

static void unlock_current(void)
{
	pthread_mutex_unlock(&current_lock);
	adv_forks_allow();
}

/* Opens a socket to the daemon's connection manager. -1 and errno. */
static int open_socket(void)
{
	char why[ADV_CONTROL_TEXT_LEN];
	struct adv_control *control = adv_control_connect(true, why, sizeof(why));
	int fd = -1;
	int err = control ? adv_control_open_cm(control, &fd, why, sizeof(why)) : errno;

	if (control && !err)
		adv_control_tell_faults(control);
	adv_control_close(control);
	if (!control || err) {
		adv_error("connection manager: %s", why);
		errno = err == ENOMEM || err == EMFILE || err == ENFILE ? err : ENODEV;
		return -1;
	}
	return fd;
}

static struct adv_rdma_connection *connection_new(void)
{
	struct adv_rdma_connection *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->sock = open_socket();
	if (c->sock < 0) {
		free(c);
		return NULL;
	}
	pthread_mutex_init(&c->lock, NULL);
	c->refs = 1;
	adv_list_init(&c->waiters);
	for (unsigned i = 0; i < ADV_RDMA_BUCKETS; i++)
		adv_list_init(&c->ids[i]);
	return c;
}

static void drop_reference(struct adv_rdma_connection *c)
{
	if (--c->refs > 0)
		return;
	if (!c->foreign)
		adv_sys_close(c->sock);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

/* True if the daemon has closed the socket since the last request. */
static bool has_ended(struct adv_rdma_connection *c)
{
	struct pollfd p = {.fd = c->sock, .events = POLLIN};

	return adv_sys_poll(&p, 1, 0) > 0;
}

static void mark_dead(struct adv_rdma_connection *c)
{
	if (c->dead)
		return;
	c->dead = true;
	adv_warn("connection manager: adverbd closed the connection");
	adv_rdma_device_renew();
	adv_sys_shutdown(c->sock, SHUT_RDWR);
	/* Wakes threads that wait for an event. */
	adv_list_for_each(const struct adv_rdma_waiter, waiter, &c->waiters, link)
		adv_sys_shutdown(waiter->fd, SHUT_RDWR);
}

struct adv_rdma_connection *adv_rdma_connection_get(void)
{
	struct adv_rdma_connection *c;
	bool dead = false;

	lock_current();
	if (current) {
		adv_rdma_lock(current);
		if (has_ended(current))
			mark_dead(current);
		dead = current->dead;
		adv_rdma_unlock(current);
	}
	if (dead) {
		c = current;
		current = NULL; /* first: a child of a fork() closes the socket of `current` */
		drop_reference(c);
	}
	if (!current)
		current = connection_new();
	c = current;
	if (c)
		c->refs++;
	unlock_current();
	return c;
}

void adv_rdma_connection_put(struct adv_rdma_connection *c)
{
	lock_current();
	drop_reference(c);
	unlock_current();
}

void adv_rdma_lock(struct adv_rdma_connection *c)
{
	pthread_mutex_lock(&c->lock);
}

void adv_rdma_unlock(struct adv_rdma_connection *c)
{
	pthread_mutex_unlock(&c->lock);
}

void adv_rdma_request(struct adv_ucma_message *m, enum adv_ucma_command type, uint32_t id)
{
	memset(m, 0, sizeof(*m));
	m->magic = ADV_UCMA_PROTOCOL_MAGIC;
	m->version = ADV_UCMA_PROTOCOL_VERSION;
	m->type = (uint16_t)type;
	m->id = id;
}

/* Returns the descriptor that came with a message, or -1. */
static int take_descriptor(struct msghdr *msg)
{
	struct cmsghdr *h = CMSG_FIRSTHDR(msg);
	int fd = -1;

	if (h && h->cmsg_level == SOL_SOCKET && h->cmsg_type == SCM_RIGHTS &&
	    h->cmsg_len >= CMSG_LEN(sizeof(fd)))
		memcpy(&fd, CMSG_DATA(h), sizeof(fd));
	return fd;
}

/* Receives one message within the time for an answer. Returns the message's length, 0 at the end of
 * the stream, or -1. */
static ssize_t receive_answer(int sock, struct adv_ucma_message *m, int *fd)
{
	/* Room for one descriptor; the kernel closes further ones. */
	char room[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8)));
	struct iovec iov = {m, sizeof(*m)};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	struct pollfd p = {.fd = sock, .events = POLLIN};
	ssize_t n;
	int ready;

	msg.msg_control = room;
	msg.msg_controllen = sizeof(room);
	do
		ready = adv_sys_poll(&p, 1, ANSWER_WAIT_MS);
	while (ready < 0 && errno == EINTR);
	if (ready <= 0)
		return -1;
	do
		n = adv_sys_recvmsg(sock, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	*fd = n >= 0 ? take_descriptor(&msg) : -1;
	return n;
}

/* Sends the request *m and receives the answer into *m. True if the answer has the type and number
 * of the request. */
static bool exchange_messages(struct adv_rdma_connection *c, struct adv_ucma_message *m, int *fd)
{
	uint16_t type = m->type;
	uint32_t serial = ++c->serial;
	ssize_t n;

	*fd = -1;
	m->serial = serial;
	do
		n = adv_sys_sendto(c->sock, m, sizeof(*m), MSG_NOSIGNAL, NULL, 0);
	while (n < 0 && errno == EINTR);
	if (n != sizeof(*m))
		return false;
	n = receive_answer(c->sock, m, fd);
	return n == sizeof(*m) && m->magic == ADV_UCMA_PROTOCOL_MAGIC &&
	       m->version == ADV_UCMA_PROTOCOL_VERSION && m->type == type && m->serial == serial;
}

int adv_rdma_ask(struct adv_rdma_connection *c, struct adv_ucma_message *m, int *fd)
{
	int received = -1;

	if (c->dead)
		return ENODEV;
	if (!exchange_messages(c, m, &received)) {
		if (received >= 0)
			adv_sys_close(received);
		mark_dead(c);
		return ENODEV;
	}
	if (fd && !m->result)
		*fd = received;
	else if (received >= 0)
		adv_sys_close(received);
	return m->result;
}
