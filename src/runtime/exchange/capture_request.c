/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The requesting side of the exchange about captures. */
#include "runtime/exchange/capture_exchange.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/rights.h"
#include "base/sys.h"

/* Receives the answer and its descriptor, which the caller owns; -1: none. 0 or errno. */
static int receive_message(int fd, struct adv_capture_message *m, int *memory_fd)
{
	struct iovec iov = {m, sizeof(*m)};
	union adv_rights_room room;
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &room,
			     .msg_controllen = sizeof(room)};
	ssize_t n = adv_sys_recvmsg(fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	*memory_fd = n < 0 ? -1 : adv_rights_take(&msg);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? EAGAIN : EPIPE;
	if (n == 0)
		return EPIPE;
	if (n != (ssize_t)sizeof(*m) || m->magic != ADV_CAPTURE_MAGIC ||
	    m->version != ADV_CAPTURE_VERSION)
		return EPROTO;
	return m->result;
}

/* Maps the memory of a ring, which must not shrink. 0 or errno. */
static int map_ring(int fd, const struct adv_capture_message *m, struct adv_capture_ring *ring)
{
	const size_t len = adv_tap_memory_len(m->size);
	struct stat st;
	int seals = fd >= 0 ? adv_sys_fcntl(fd, F_GET_SEALS, 0) : -1;
	void *p;

	if (!adv_tap_size_fits(m->size) || seals < 0 || !(seals & F_SEAL_SHRINK) ||
	    fstat(fd, &st) != 0 || st.st_size != (off_t)len)
		return EPROTO;
	/* The pages are made here, not while the process writes the first packets. */
	p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (p == MAP_FAILED)
		return errno;
	ring->memory = p;
	ring->size = m->size;
	return 0;
}

static void explain_capture_error(int error, char *why, size_t why_len)
{
	if (error == EPIPE)
		snprintf(why, why_len, "it ended, or its version of Adverb is older");
	else if (error == EPROTO)
		snprintf(why, why_len, "it uses another version of Adverb");
	else if (error == EBUSY)
		snprintf(why, why_len, "it has %d captures already, which is the most",
			 ADV_TAP_CAPTURES);
	else
		snprintf(why, why_len, "%s", strerror(error));
}

/* Opens a socket for a request and queues the request in it. 0 or errno. */
static int queue_request(struct adv_control *c, const struct adv_capture_message *m, int *fd,
			 char *why, size_t why_len)
{
	const struct adv_control_fault open = {ADV_CONTROL_FAULT_OPEN, 0};
	struct adv_capture_message request = *m;
	int error = adv_control_fault(c, &open, fd, why, why_len);

	if (error)
		return error;
	request.magic = ADV_CAPTURE_MAGIC;
	request.version = ADV_CAPTURE_VERSION;
	error = adv_capture_send(*fd, &request, -1);
	if (error)
		explain_capture_error(error, why, why_len);
	return error;
}

int adv_capture_request(struct adv_control *c, const struct adv_capture_message *m,
			struct adv_capture_ring *ring, char *why, size_t why_len)
{
	const struct adv_control_fault target = {
		m->slot ? ADV_CONTROL_FAULT_SLOT : ADV_CONTROL_FAULT_DAEMON, m->slot};
	int none = -1;
	int error;

	*ring = (struct adv_capture_ring){.life = -1};
	error = queue_request(c, m, &ring->life, why, why_len);
	if (!error)
		error = adv_control_fault(c, &target, &none, why, why_len);
	if (error)
		adv_capture_end(ring);
	return error;
}

int adv_capture_request_later(struct adv_control *c, const struct adv_capture_message *m, char *why,
			      size_t why_len)
{
	const struct adv_control_fault target = {ADV_CONTROL_FAULT_CAPTURES, 0};
	int fd = -1, none = -1;
	int error = queue_request(c, m, &fd, why, why_len);

	if (!error)
		error = adv_control_fault(c, &target, &none, why, why_len);
	if (fd >= 0)
		adv_sys_close(fd);
	return error;
}

int adv_capture_receive(struct adv_capture_ring *ring, struct adv_capture_message *m, char *why,
			size_t why_len)
{
	int memory_fd = -1;
	int error = receive_message(ring->life, m, &memory_fd);

	if (!error)
		error = map_ring(memory_fd, m, ring);
	if (memory_fd >= 0)
		adv_sys_close(memory_fd);
	m->comm[sizeof(m->comm) - 1] = '\0';
	if (error && error != EAGAIN)
		explain_capture_error(error, why, why_len);
	return error;
}

void adv_capture_stop(struct adv_capture_ring *ring)
{
	atomic_store(&ring->memory->stop, 1);
}

bool adv_capture_has_ended(const struct adv_capture_ring *ring)
{
	struct pollfd p = {.fd = ring->life, .events = POLLRDHUP};

	return adv_sys_poll(&p, 1, 0) > 0;
}

void adv_capture_end(struct adv_capture_ring *ring)
{
	if (ring->memory)
		munmap(ring->memory, adv_tap_memory_len(ring->size));
	ring->memory = NULL;
	if (ring->life >= 0)
		adv_sys_close(ring->life);
	ring->life = -1;
}
