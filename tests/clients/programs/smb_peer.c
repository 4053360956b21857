/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "smb_peer.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/bytes.h"

enum { PAGE = 4096, PATIENCE_MS = 60000, POLL_NS = 100000 };

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void *memory_of(size_t length)
{
	void *p = aligned_alloc(PAGE, length);

	if (!p)
		die("memory");
	memset(p, 0, length);
	return p;
}

/* --- the connection --- */

struct adv_smbd_config peer_config(void)
{
	return (struct adv_smbd_config){
		.receive_credits = PEER_RECEIVES - 1,
		.send_credits = 255,
		.send_size = PEER_SIZE,
		.receive_size = 1364,
		.fragmented_size = PEER_MESSAGE,
		.read_write_size = 8 << 20,
		.negotiate_ms = PATIENCE_MS,
		.keepalive_ms = PATIENCE_MS,
		.response_ms = PATIENCE_MS,
	};
}

static uint8_t *buffer_of(struct smb_peer *p, unsigned i)
{
	return p->buffers + i * (size_t)PEER_SIZE;
}

static void post_receive(struct smb_peer *p, unsigned i)
{
	struct ibv_sge sge = {(uintptr_t)buffer_of(p, i), PEER_SIZE, p->buffers_mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = i, .sg_list = &sge, .num_sge = 1}, *bad;

	if (ibv_post_recv(p->id->qp, &wr, &bad) != 0)
		die("ibv_post_recv");
}

static void make_objects(struct smb_peer *p)
{
	size_t buffers = (PEER_RECEIVES + PEER_SENDS) * (size_t)PEER_SIZE;
	struct ibv_qp_init_attr init = {
		.cap = {.max_send_wr = 2 * PEER_SENDS,
			.max_recv_wr = PEER_RECEIVES,
			.max_send_sge = 1,
			.max_recv_sge = 1},
		.sq_sig_all = 1,
		.qp_type = IBV_QPT_RC,
	};

	p->cq = ibv_create_cq(p->id->verbs, PEER_RECEIVES + 2 * PEER_SENDS, NULL, NULL, 0);
	init.send_cq = init.recv_cq = p->cq;
	if (!p->cq || rdma_create_qp(p->id, NULL, &init) != 0)
		die("rdma_create_qp");
	p->memory = memory_of(PEER_MEMORY);
	p->buffers = memory_of(buffers);
	p->message = memory_of(PEER_MESSAGE);
	p->mr = ibv_reg_mr(p->id->pd, p->memory, PEER_MEMORY,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
				   IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_MW_BIND);
	p->buffers_mr = ibv_reg_mr(p->id->pd, p->buffers, buffers, IBV_ACCESS_LOCAL_WRITE);
	if (!p->mr || !p->buffers_mr)
		die("ibv_reg_mr");
	for (unsigned i = 0; i < PEER_RECEIVES; i++)
		post_receive(p, i);
}

bool peer_connect_only(struct smb_peer *p, const char *host, const char *port,
		       const struct adv_smbd_config *config)
{
	struct rdma_addrinfo hints = {.ai_port_space = RDMA_PS_TCP}, *found;
	struct adv_smbd_config own = peer_config();
	struct rdma_conn_param param = {
		.responder_resources = 16, .retry_count = 7, .rnr_retry_count = 7};

	memset(p, 0, sizeof(*p));
	if (rdma_getaddrinfo(host, port, &hints, &found) != 0 ||
	    rdma_create_ep(&p->id, found, NULL, NULL) != 0)
		die("rdma_create_ep");
	rdma_freeaddrinfo(found);
	make_objects(p);
	adv_smbd_init(&p->core, config ? config : &own, now_ms());
	if (rdma_connect(p->id, &param) == 0)
		return true;
	peer_close(p);
	return false;
}

void peer_close(struct smb_peer *p)
{
	rdma_disconnect(p->id);
	rdma_destroy_qp(p->id);
	ibv_destroy_cq(p->cq);
	ibv_dereg_mr(p->mr);
	ibv_dereg_mr(p->buffers_mr);
	rdma_destroy_ep(p->id);
	free(p->memory);
	free(p->buffers);
	free(p->message);
}

/* --- messages --- */

void peer_grant_all(struct smb_peer *p)
{
	p->core.goal = p->core.config.receive_credits;
	p->core.grant_now = true;
}

static void take(struct smb_peer *p, const struct adv_smbd_fragment *f)
{
	if (p->complete) {
		fprintf(stderr, "a message that nobody waits for\n");
		exit(1);
	}
	memcpy(p->message + f->offset, f->data, f->length);
	p->length = f->total;
	p->complete = f->offset + f->length == f->total;
}

/* Posts receives again. */
static void give_back(struct smb_peer *p, unsigned i)
{
	p->held[p->held_count++] = i;
	if (p->lazy && (p->core.in_received > 0 || p->core.granted >= p->core.goal))
		return;
	while (p->held_count > 0) {
		post_receive(p, p->held[--p->held_count]);
		adv_smbd_reposted(&p->core, now_ms());
	}
	if (p->lazy)
		peer_grant_all(p);
}

/* Handles a completion. False: the connection has ended. */
static bool completed(struct smb_peer *p, const struct ibv_wc *wc)
{
	struct adv_smbd_fragment f;
	unsigned i = (unsigned)wc->wr_id;

	if (wc->status != IBV_WC_SUCCESS)
		return false;
	if (!(wc->opcode & IBV_WC_RECV)) {
		p->sending--;
		return true;
	}
	if (wc->wc_flags & IBV_WC_WITH_INV)
		p->invalidated = wc->invalidated_rkey;
	switch (adv_smbd_receive(&p->core, buffer_of(p, i), wc->byte_len, now_ms(), &f)) {
	case ADV_SMBD_BROKEN:
		fprintf(stderr, "the gateway is wrong: %s\n", p->core.reason);
		exit(1);
	case ADV_SMBD_FRAGMENT:
		take(p, &f);
		break;
	default:
		break;
	}
	give_back(p, i);
	return true;
}

static bool post_send(struct smb_peer *p, uint32_t length)
{
	uint8_t *at = buffer_of(p, PEER_RECEIVES + p->next_send);
	struct ibv_sge sge = {(uintptr_t)at, length, p->buffers_mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad;

	p->next_send = (p->next_send + 1) % PEER_SENDS;
	p->sending++;
	return ibv_post_send(p->id->qp, &wr, &bad) == 0;
}

/* Sends what can be sent of a message. False: the connection has ended. */
static bool send_some(struct smb_peer *p, const uint8_t *message, bool *last)
{
	struct adv_smbd_send s;

	while (p->sending < PEER_SENDS && adv_smbd_next(&p->core, &s)) {
		uint8_t *to = buffer_of(p, PEER_RECEIVES + p->next_send);

		memcpy(to, s.head, s.head_length);
		if (s.length)
			memcpy(to + s.head_length, message + s.offset, s.length);
		if (!post_send(p, s.head_length + s.length))
			return false;
		if (s.last)
			*last = true;
	}
	return true;
}

/* True if the peer has ended the connection. */
static bool disconnected(struct smb_peer *p)
{
	struct pollfd fd = {.fd = p->id->channel->fd, .events = POLLIN};
	struct rdma_cm_event *event;

	if (p->ended || poll(&fd, 1, 0) <= 0 || rdma_get_cm_event(p->id->channel, &event) != 0)
		return p->ended;
	p->ended = event->event == RDMA_CM_EVENT_DISCONNECTED;
	rdma_ack_cm_event(event);
	return p->ended;
}

/* Handles completions. False: the connection has ended. */
static bool poll_once(struct smb_peer *p)
{
	struct ibv_wc wc;
	int n = ibv_poll_cq(p->cq, 1, &wc);

	if (n > 0)
		return completed(p, &wc);
	nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
	adv_smbd_expire(&p->core, now_ms());
	return !disconnected(p);
}

/* Exits if the program waits for too long. */
static void check_patience(uint64_t began)
{
	if (now_ms() - began > PATIENCE_MS) {
		fprintf(stderr, "nothing happens\n");
		exit(1);
	}
}

bool peer_send(struct smb_peer *p, const uint8_t *message, size_t length)
{
	uint64_t began = now_ms();
	bool last = false;

	if (!adv_smbd_begin(&p->core, length)) {
		fprintf(stderr, "a message is too long for the gateway\n");
		exit(1);
	}
	while (!last) {
		if (!send_some(p, message, &last) || (!last && !poll_once(p)))
			return false;
		check_patience(began);
	}
	return true;
}

bool peer_await_credit(struct smb_peer *p, unsigned ms)
{
	uint64_t began = now_ms();
	bool last;

	/* The last credit is not for data. */
	while (p->core.send_credits < 2) {
		if (now_ms() - began > ms || !send_some(p, NULL, &last) || !poll_once(p))
			return false;
	}
	return true;
}

bool peer_send_raw(struct smb_peer *p, const void *bytes, uint32_t length)
{
	uint64_t began = now_ms();

	while (p->sending == PEER_SENDS) {
		if (!poll_once(p))
			return false;
		check_patience(began);
	}
	if (length)
		memcpy(buffer_of(p, PEER_RECEIVES + p->next_send), bytes, length);
	return post_send(p, length);
}

bool peer_await(struct smb_peer *p)
{
	uint64_t began = now_ms();
	bool last;

	while (!p->complete) {
		if (!poll_once(p) || !send_some(p, NULL, &last))
			return false;
		check_patience(began);
	}
	p->complete = false;
	return true;
}

void peer_await_end(struct smb_peer *p)
{
	uint64_t began = now_ms();

	while (poll_once(p))
		check_patience(began);
}

bool peer_connect(struct smb_peer *p, const char *host, const char *port,
		  const struct adv_smbd_config *config)
{
	uint64_t began = now_ms();
	bool last;

	if (!peer_connect_only(p, host, port, config))
		return false;
	while (p->core.state != ADV_SMBD_READY) {
		if (!send_some(p, NULL, &last) || !poll_once(p)) {
			peer_close(p);
			return false;
		}
		check_patience(began);
	}
	return true;
}

/* --- SMB2 --- */

void smb_header(struct smb_peer *p, uint8_t *at, uint16_t command)
{
	memset(at, 0, ADV_SMB2_HEADER_LEN);
	memcpy(at, "\xfeSMB\x40", 5);
	adv_put_le16(at + 12, command);
	adv_put_le64(at + 24, ++p->message_id);
}

size_t smb_io(struct smb_peer *p, uint8_t *at, uint16_t command, uint64_t offset, uint32_t length)
{
	struct adv_smb2_io io = {.length = length,
				 .data_offset = command == ADV_SMB2_WRITE ? ADV_SMB2_IO_LEN : 0};

	smb_header(p, at, command);
	memset(at + ADV_SMB2_HEADER_LEN, 0, ADV_SMB2_IO_LEN - ADV_SMB2_HEADER_LEN + 1);
	adv_put_le16(at + ADV_SMB2_HEADER_LEN, 49);
	adv_smb2_io_encode(at, command, &io);
	adv_put_le64(at + ADV_SMB2_HEADER_LEN + 8, offset);
	return command == ADV_SMB2_READ ? ADV_SMB2_IO_LEN + 1 : ADV_SMB2_IO_LEN;
}

size_t smb_rdma_io(struct smb_peer *p, uint8_t *at, uint16_t command, uint64_t offset,
		   uint32_t length, size_t place, unsigned count)
{
	struct adv_smb2_io io = {
		.channel = ADV_SMB2_CHANNEL_RDMA_V1,
		.channel_offset = ADV_SMB2_IO_LEN,
		.channel_length = (uint16_t)(count * ADV_SMBD_DESCRIPTOR_LEN),
		.length = command == ADV_SMB2_READ ? length : 0,
		.remaining = command == ADV_SMB2_WRITE ? length : 0,
	};
	uint32_t left = length;

	smb_io(p, at, command, offset, length);
	adv_smb2_io_encode(at, command, &io);
	for (unsigned i = 0; i < count; i++) {
		uint32_t n = i + 1 == count ? left : left / (count - i);
		struct adv_smbd_descriptor d = {(uintptr_t)p->memory + place, p->mr->rkey, n};

		adv_smbd_descriptor_encode(&d, at + ADV_SMB2_IO_LEN + i * ADV_SMBD_DESCRIPTOR_LEN);
		place += n;
		left -= n;
	}
	return ADV_SMB2_IO_LEN + count * ADV_SMBD_DESCRIPTOR_LEN;
}

uint32_t smb_status(const struct smb_peer *p, size_t at)
{
	struct adv_smb2_element e;

	if (!adv_smb2_element_at(p->message, p->length, at, &e) ||
	    !(e.flags & ADV_SMB2_FLAG_RESPONSE)) {
		fprintf(stderr, "a response is wrong\n");
		exit(1);
	}
	return e.status;
}
