/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "storage/nvme_host/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEVICE_REMOVED "the RDMA device was removed"
enum { RESOLVE_MS = 2000, CONNECT_MS = 10000, READS = 16, RETRIES = 7, CQ_MIN = 4096 };

/* --- the device --- */

static bool make_device(struct adv_nvme_host_device *device, struct ibv_context *verbs)
{
	struct ibv_device_attr attr;

	if (device->verbs)
		return device->verbs == verbs;
	if (ibv_query_device(verbs, &attr) != 0)
		return false;
	device->verbs = verbs;
	device->cqe = CQ_MIN;
	device->pd = ibv_alloc_pd(verbs);
	device->channel = ibv_create_comp_channel(verbs);
	if (!device->pd || !device->channel || fcntl(device->channel->fd, F_SETFL, O_NONBLOCK) != 0)
		return false;
	if (device->cqe > (unsigned)attr.max_cqe)
		device->cqe = (unsigned)attr.max_cqe;
	device->cq = ibv_create_cq(verbs, (int)device->cqe, NULL, device->channel, 0);
	return device->cq != NULL;
}

void adv_nvme_host_device_free(struct adv_nvme_host_device *device)
{
	if (device->cq)
		ibv_destroy_cq(device->cq);
	if (device->channel)
		ibv_destroy_comp_channel(device->channel);
	if (device->pd)
		ibv_dealloc_pd(device->pd);
	memset(device, 0, sizeof(*device));
}

/* The completion queue has room for all work requests of all queues. */
static bool make_room(struct adv_nvme_host_device *device, uint16_t qid, uint16_t size)
{
	/* Receives, twice as many SENDs, and invalidated windows. */
	unsigned wanted = 4u * ADV_NVME_ADMIN_QUEUE_SIZE + 4u * size * (qid + 1u);

	if (wanted <= device->cqe)
		return true;
	if (ibv_resize_cq(device->cq, (int)wanted) != 0)
		return false;
	device->cqe = wanted;
	return true;
}

/* --- connecting --- */

/* Describes why an event other than the wanted one came. */
static void describe_event(const struct rdma_cm_event *event, char why[256])
{
	uint16_t status;

	if (event->event == RDMA_CM_EVENT_REJECTED && event->param.conn.private_data &&
	    adv_nvme_cm_reject_decode(event->param.conn.private_data,
				      event->param.conn.private_data_len, &status) &&
	    status != 0)
		snprintf(why, 256, "the target refuses the connection: %s",
			 adv_nvme_cm_status_name(status));
	else if (event->event == RDMA_CM_EVENT_DEVICE_REMOVAL)
		snprintf(why, 256, DEVICE_REMOVED);
	else if (event->event == RDMA_CM_EVENT_REJECTED)
		snprintf(why, 256, "the connection is refused: does a target listen there?");
	else
		snprintf(why, 256, "%s: %s", rdma_event_str(event->event),
			 strerror(event->status < 0 ? -event->status : event->status));
}

/* Waits for an event. The caller acknowledges it. NULL: *why. */
static struct rdma_cm_event *wait_event(struct adv_nvme_host_connection *c,
					enum rdma_cm_event_type wanted, char why[256])
{
	struct pollfd fd = {.fd = c->channel->fd, .events = POLLIN};
	struct rdma_cm_event *event;

	if (poll(&fd, 1, CONNECT_MS) <= 0) {
		snprintf(why, 256, "no answer within %d s", CONNECT_MS / 1000);
		return NULL;
	}
	if (rdma_get_cm_event(c->channel, &event) != 0) {
		snprintf(why, 256, DEVICE_REMOVED);
		return NULL;
	}
	if (event->event == wanted)
		return event;
	describe_event(event, why);
	rdma_ack_cm_event(event);
	return NULL;
}

static bool wait_for(struct adv_nvme_host_connection *c, enum rdma_cm_event_type wanted,
		     char why[256])
{
	struct rdma_cm_event *event = wait_event(c, wanted, why);

	if (event)
		rdma_ack_cm_event(event);
	return event != NULL;
}

static bool resolve_target(struct adv_nvme_host_connection *c,
			   const struct adv_kit_address *address, char why[256])
{
	c->channel = rdma_create_event_channel();
	if (!c->channel || rdma_create_id(c->channel, &c->id, c, RDMA_PS_TCP) != 0) {
		snprintf(why, 256, "no RDMA device: %s", strerror(errno));
		return false;
	}
	if (rdma_resolve_addr(c->id, NULL, (struct sockaddr *)(uintptr_t)&address->sa,
			      RESOLVE_MS) != 0 ||
	    !wait_for(c, RDMA_CM_EVENT_ADDR_RESOLVED, why)) {
		if (!why[0])
			snprintf(why, 256, "%s: %s", address->host, strerror(errno));
		return false;
	}
	if (rdma_resolve_route(c->id, RESOLVE_MS) != 0 ||
	    !wait_for(c, RDMA_CM_EVENT_ROUTE_RESOLVED, why)) {
		if (!why[0])
			snprintf(why, 256, "no route to %s: %s", address->host, strerror(errno));
		return false;
	}
	return true;
}

static bool make_qp(struct adv_nvme_host_connection *c, const struct adv_nvme_host_device *device)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.send_cq = device->cq,
		.recv_cq = device->cq,
		/* A window may have to be invalidated. */
		.cap = {.max_send_wr = c->room + (device->invalidate ? c->size : 0u),
			.max_recv_wr = c->size,
			.max_send_sge = 2,
			.max_recv_sge = 1},
	};
	size_t len = c->size * (size_t)(2 * ADV_NVME_COMMAND_LEN + ADV_NVME_COMPLETION_LEN);

	c->memory = calloc(1, len);
	if (!c->memory || rdma_create_qp(c->id, device->pd, &init) != 0)
		return false;
	c->mr = ibv_reg_mr(device->pd, c->memory, len, IBV_ACCESS_LOCAL_WRITE);
	if (!c->mr)
		return false;
	if (device->invalidate) {
		c->windows = adv_nvme_windows_create(device->pd, c->size);
		if (!c->windows)
			return false;
	}
	for (unsigned i = 0; i < c->size; i++) {
		errno = adv_nvme_host_connection_post(c, i);
		if (errno)
			return false;
	}
	errno = adv_nvme_host_connection_flush(c);
	return errno == 0;
}

static bool establish_connection(struct adv_nvme_host_connection *c, uint16_t cntlid, char why[256])
{
	struct adv_nvme_cm_request cm = {.qid = c->qid,
					 .hrqsize = c->size,
					 .hsqsize = (uint16_t)(c->size - 1),
					 .cntlid = cntlid};
	uint8_t data[ADV_NVME_CM_LEN];
	struct rdma_conn_param param = {
		.private_data = data,
		.private_data_len = sizeof(data),
		.responder_resources = READS,
		.retry_count = RETRIES,
		.rnr_retry_count = RETRIES,
		.flow_control = 1,
	};
	struct rdma_cm_event *event;
	uint16_t crqsize;
	bool ok;

	adv_nvme_cm_request_encode(&cm, data);
	if (rdma_connect(c->id, &param) != 0) {
		snprintf(why, 256, "cannot connect: %s", strerror(errno));
		return false;
	}
	event = wait_event(c, RDMA_CM_EVENT_ESTABLISHED, why);
	if (!event)
		return false;
	c->connected = true;
	ok = event->param.conn.private_data &&
	     adv_nvme_cm_accept_decode(event->param.conn.private_data,
				       event->param.conn.private_data_len, &crqsize);
	rdma_ack_cm_event(event);
	if (!ok)
		snprintf(why, 256, "the peer accepts, but not as an NVMe target");
	return ok;
}

struct adv_nvme_host_connection *
adv_nvme_host_connection_open(struct adv_nvme_host_device *device,
			      const struct adv_kit_address *address, uint16_t qid, uint16_t size,
			      uint16_t cntlid, char why[256])
{
	struct adv_nvme_host_connection *c = calloc(1, sizeof(*c));

	why[0] = 0;
	if (!c)
		return NULL;
	c->qid = qid;
	c->size = size;
	/* With windows each SEND has its binding. */
	c->room = device->invalidate ? 4u * size : 2u * size;
	c->capsule = calloc(size, sizeof(c->capsule[0]));
	c->queue = adv_nvme_host_queue_create(size);
	if (c->queue && c->capsule && resolve_target(c, address, why)) {
		if (!make_device(device, c->id->verbs) || !make_room(device, qid, size) ||
		    !make_qp(c, device))
			snprintf(why, 256, "cannot make a queue pair: %s",
				 errno == EOPNOTSUPP ? "the device has no memory windows of type 2"
						     : strerror(errno));
		else if (establish_connection(c, cntlid, why) &&
			 fcntl(c->channel->fd, F_SETFL, O_NONBLOCK) == 0)
			return c;
	}
	adv_nvme_host_connection_close(c);
	return NULL;
}

void adv_nvme_host_connection_close(struct adv_nvme_host_connection *c)
{
	if (c->connected)
		rdma_disconnect(c->id);
	if (c->id && c->id->qp)
		rdma_destroy_qp(c->id);
	if (c->windows)
		adv_nvme_windows_destroy(c->windows);
	if (c->id)
		rdma_destroy_id(c->id);
	if (c->channel)
		rdma_destroy_event_channel(c->channel);
	if (c->mr)
		ibv_dereg_mr(c->mr);
	if (c->queue)
		adv_nvme_host_queue_destroy(c->queue);
	free(c->capsule);
	free(c->memory);
	free(c);
}

const char *adv_nvme_host_connection_ended(struct adv_nvme_host_connection *c)
{
	const char *why = NULL;
	struct rdma_cm_event *event;

	while (rdma_get_cm_event(c->channel, &event) == 0) {
		if (event->event == RDMA_CM_EVENT_DISCONNECTED)
			why = "the target has disconnected";
		else if (event->event == RDMA_CM_EVENT_DEVICE_REMOVAL)
			why = DEVICE_REMOVED;
		rdma_ack_cm_event(event);
	}
	/* A channel that fails has no events any more. */
	return errno == EAGAIN || errno == EINTR ? why : DEVICE_REMOVED;
}

/* --- capsules --- */

/* The memory: 2 * size capsules, as many as the send queue takes, then size receives. */
const uint8_t *adv_nvme_host_connection_received(const struct adv_nvme_host_connection *c,
						 unsigned index)
{
	return c->memory + 2u * c->size * ADV_NVME_COMMAND_LEN +
	       (size_t)index * ADV_NVME_COMPLETION_LEN;
}

static int flush_receives(struct adv_nvme_host_connection *c)
{
	struct ibv_sge sge[ADV_NVME_HOST_TOGETHER];
	struct ibv_recv_wr wr[ADV_NVME_HOST_TOGETHER], *bad;
	unsigned count = c->receives;

	for (unsigned i = 0; i < count; i++) {
		unsigned index = c->receive[i];

		sge[i] = (struct ibv_sge){(uintptr_t)adv_nvme_host_connection_received(c, index),
					  ADV_NVME_COMPLETION_LEN, c->mr->lkey};
		wr[i] = (struct ibv_recv_wr){
			.wr_id = ADV_NVME_HOST_WR(ADV_NVME_HOST_RECV, c->qid, index),
			.next = i + 1 < count ? &wr[i + 1] : NULL,
			.sg_list = &sge[i],
			.num_sge = 1};
	}
	c->receives = 0;
	return count ? ibv_post_recv(c->id->qp, wr, &bad) : 0;
}

static struct ibv_send_wr *first_of(struct adv_nvme_host_capsule *capsule)
{
	return capsule->binds ? &capsule->bind : &capsule->send;
}

/* Posts the first capsules. The last SEND completes for all of them, and names how many work
 * requests they are. ACKs may be late or lost, so a response may come long before the SEND of its
 * command completes: capsules without room in the send queue wait. */
static int flush_capsules(struct adv_nvme_host_connection *c)
{
	struct adv_nvme_host_capsule *first = &c->capsule[c->first_capsule], *last = NULL, *next;
	struct ibv_send_wr *bad;
	unsigned posted = 0;

	while (c->capsules > 0) {
		next = &c->capsule[c->first_capsule];
		if (posted + 1 + next->binds > c->room)
			break;
		posted += 1 + next->binds;
		if (last)
			last->send.next = first_of(next);
		last = next;
		c->first_capsule = (c->first_capsule + 1) % c->size;
		c->capsules--;
	}
	if (!last)
		return 0;
	last->send.send_flags = IBV_SEND_SIGNALED;
	last->send.wr_id = ADV_NVME_HOST_WR(ADV_NVME_HOST_SEND, c->qid, posted);
	c->room -= posted;
	return ibv_post_send(c->id->qp, first_of(first), &bad);
}

void adv_nvme_host_connection_sent(struct adv_nvme_host_connection *c, unsigned count)
{
	c->room += count;
}

int adv_nvme_host_connection_flush(struct adv_nvme_host_connection *c)
{
	/* A response may come as soon as its command is sent. */
	int err = flush_receives(c), err_send = flush_capsules(c);

	return err ? err : err_send;
}

int adv_nvme_host_connection_post(struct adv_nvme_host_connection *c, unsigned index)
{
	c->receive[c->receives++] = index;
	return c->receives < ADV_NVME_HOST_TOGETHER ? 0 : flush_receives(c);
}

int adv_nvme_host_connection_send(struct adv_nvme_host_connection *c,
				  const struct adv_nvme_command *command, const uint8_t *data,
				  uint32_t data_length, uint32_t lkey, struct ibv_send_wr *bind)
{
	uint8_t *memory = c->memory + (size_t)c->next_capsule * ADV_NVME_COMMAND_LEN;
	struct adv_nvme_host_capsule *capsule =
		&c->capsule[(c->first_capsule + c->capsules++) % c->size];

	c->next_capsule = (c->next_capsule + 1) % (2u * c->size);
	adv_nvme_command_encode(command, memory);
	capsule->sge[0] = (struct ibv_sge){(uintptr_t)memory, ADV_NVME_COMMAND_LEN, c->mr->lkey};
	capsule->sge[1] = (struct ibv_sge){(uintptr_t)data, data_length, lkey};
	/* The members that a SEND has; nobody sets others. */
	capsule->send.wr_id = ADV_NVME_HOST_WR(ADV_NVME_HOST_SEND, c->qid, 0);
	capsule->send.next = NULL;
	capsule->send.sg_list = capsule->sge;
	capsule->send.num_sge = data_length ? 2 : 1;
	capsule->send.opcode = IBV_WR_SEND;
	capsule->send.send_flags = 0;
	capsule->binds = bind != NULL;
	if (bind) {
		capsule->bind = *bind;
		capsule->bind.wr_id = capsule->send.wr_id;
		capsule->bind.next = &capsule->send;
	}
	return c->capsules < ADV_NVME_HOST_TOGETHER ? 0 : adv_nvme_host_connection_flush(c);
}

int adv_nvme_host_connection_invalidate(struct adv_nvme_host_connection *c, int window, void *user)
{
	struct ibv_send_wr wr, *bad;

	adv_nvme_windows_invalidate(c->windows, window, user, &wr);
	wr.wr_id = ADV_NVME_HOST_WR(ADV_NVME_HOST_INVALIDATE, c->qid, window);
	return ibv_post_send(c->id->qp, &wr, &bad);
}
