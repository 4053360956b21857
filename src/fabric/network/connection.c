/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Queue pairs between hosts, and transfers, which are sequences of work requests. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/parts/part.h"
#include "base/grow.h"

#define DEPTH	  8
#define TIMEOUT	  14
#define RETRIES	  7
#define RNR_TIMER 1 /* 10 us */
#define RD_ATOMIC 16
#define RECV_WR	  (1ull << 63)
#define BTH_QPN	  4 /* offsets in the BTH of the words with the destination QP number */
#define BTH_PSN	  8 /* and the PSN */

/* ---- connections ---- */

static bool is_good(const struct adv_fabric *f, const struct adv_fabric_connection *c)
{
	uint32_t hosts = f->config.topology->hosts;

	return c->initiator < hosts && c->target < hosts && c->initiator != c->target &&
	       c->operation <= ADV_FABRIC_READ && c->dscp < 64 &&
	       c->message <= ADV_FABRIC_MESSAGE_MAX && c->depth <= ADV_MAX_QP_WR / 2 &&
	       c->timeout < 32 && c->retry_count < 8;
}

/* Makes room in the CQ for all completions that the new queue pair can have at once. */
static int reserve_completions(struct adv_fabric_host *h, uint32_t completions)
{
	int err = 0;

	h->cq_used += completions;
	while (!err && h->cq_room < h->cq_used) {
		h->cq_room *= 2;
		err = adv_cq_resize(h->cq, h->cq_room);
	}
	if (!err && adv_engine_qpns_left(h->engine) == 0) {
		uint32_t first = ADV_FABRIC_QPNS + h->qps;

		err = adv_engine_add_qpns(h->engine, first, first);
	}
	return err;
}

/* Makes a queue pair of connection `index`. */
static struct adv_qp *make_qp(struct adv_fabric_host *h, uint32_t send, uint32_t recv,
			      uint32_t index)
{
	struct adv_qp_config c = {
		.type = IBV_QPT_RC,
		.pd = h->pd,
		.send_cq = h->cq,
		.recv_cq = h->cq,
		.cap = {.max_send_wr = send,
			.max_recv_wr = recv,
			.max_send_sge = 1,
			.max_recv_sge = 1},
		.sq_sig_all = true,
		.user = (void *)(uintptr_t)index,
	};
	struct adv_qp *qp;
	int err = reserve_completions(h, send + recv);

	if (err) {
		errno = err;
		return NULL;
	}
	qp = adv_qp_create(h->engine, &c);
	h->qps += qp != NULL;
	return qp;
}

static enum ibv_mtu mtu_of(uint32_t bytes)
{
	enum ibv_mtu m = IBV_MTU_256;

	while (bytes > 256) {
		bytes /= 2;
		m++;
	}
	return m;
}

/* Modifies the QP to INIT, RTR and RTS. PSNs begin at 0: there is no attacker to guess them. */
static int bring_up(struct adv_fabric *f, struct adv_qp *qp, const struct adv_qp *peer,
		    uint32_t peer_host, const struct adv_fabric_connection *c)
{
	uint64_t now = f->now / ADV_PS_PER_NS;
	struct ibv_qp_attr a = {
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
		.path_mtu = mtu_of(f->config.mtu),
		.dest_qp_num = adv_qp_num(peer),
		.max_dest_rd_atomic = RD_ATOMIC,
		.max_rd_atomic = RD_ATOMIC,
		.min_rnr_timer = RNR_TIMER,
		.timeout = c->timeout ? c->timeout : TIMEOUT,
		.retry_cnt = c->retry_count ? c->retry_count : RETRIES,
		.rnr_retry = 7,
		.ah_attr = {.is_global = 1,
			    .port_num = 1,
			    .grh = {.hop_limit = 64, .traffic_class = (uint8_t)(c->dscp << 2)}},
	};
	struct adv_gid gid = adv_fabric_gid(peer_host);
	int err;

	memcpy(a.ah_attr.grh.dgid.raw, gid.raw, sizeof(gid.raw));
	a.qp_state = IBV_QPS_INIT;
	err = adv_qp_modify(qp, now, &a,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	if (err)
		return err;
	a.qp_state = IBV_QPS_RTR;
	err = adv_qp_modify(qp, now, &a,
			    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				    IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				    IBV_QP_MIN_RNR_TIMER);
	if (err)
		return err;
	a.qp_state = IBV_QPS_RTS;
	return adv_qp_modify(qp, now, &a,
			     IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				     IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
}

static int post_receive(struct adv_fabric *f, uint32_t index)
{
	struct adv_fabric_peer *p = &f->peer[index];
	struct ibv_sge sge = {.length = p->config.message,
			      .lkey = adv_mr_lkey(f->host[p->config.target].mr)};
	struct ibv_recv_wr *bad, wr = {.wr_id = RECV_WR | index, .sg_list = &sge, .num_sge = 1};

	return adv_qp_post_recv(p->qp[1], f->now / ADV_PS_PER_NS, &wr, &bad);
}

static int open_peer(struct adv_fabric *f, struct adv_fabric_peer *p, uint32_t index)
{
	struct adv_fabric_connection *c = &p->config;
	uint32_t receives = c->operation == ADV_FABRIC_SEND ? 2 * c->depth : 0;
	uint8_t used = (uint8_t)(1u << f->config.priority_of_dscp[c->dscp]);
	int err;

	if (f->config.acks_apart)
		used |= (uint8_t)(1u << f->config.ack_priority);
	f->host[c->initiator].used |= used;
	f->host[c->target].used |= used;
	p->qp[0] = make_qp(&f->host[c->initiator], c->depth, 0, index);
	p->qp[1] = p->qp[0] ? make_qp(&f->host[c->target], 1, receives, index) : NULL;
	if (!p->qp[1])
		return errno;
	err = bring_up(f, p->qp[0], p->qp[1], c->target, c);
	if (!err)
		err = bring_up(f, p->qp[1], p->qp[0], c->initiator, c);
	for (uint32_t i = 0; !err && i < receives; i++)
		err = post_receive(f, index);
	return err;
}

/* True if nothing can be added: while the watcher gets the reports of parts, which have simulated
 * later events already; and always if there are ranks, since the others do not learn of it. */
static bool is_closed(const struct adv_fabric *f)
{
	return f->parts && (f->parts->telling || f->parts->ranks);
}

static void note_hints(struct adv_fabric *f, const struct adv_fabric_peer *p, uint32_t index)
{
	const uint32_t host[2] = {p->config.initiator, p->config.target};
	bool reads = p->config.operation == ADV_FABRIC_READ;

	f->host[host[reads]].hints.sender = p->qp[reads];
	for (unsigned i = 0; i < 2; i++) {
		uint32_t k = adv_qp_num(p->qp[i]) % ADV_HINTS;

		f->host[host[i]].hints.of[k].qp = p->qp[i];
		f->host[host[i]].hints.of[k].connection = index;
	}
}

int64_t adv_fabric_connect(struct adv_fabric *f, const struct adv_fabric_connection *c)
{
	struct adv_fabric_peer *p;
	int err;

	if (!is_good(f, c) || f->peers == ADV_DUE_INDEX || is_closed(f)) {
		errno = EINVAL;
		return -1;
	}
	if (!adv_grow(&f->peer, f->peers, &f->peer_room, sizeof(*f->peer))) {
		errno = ENOMEM;
		return -1;
	}
	p = &f->peer[f->peers];
	*p = (struct adv_fabric_peer){.config = *c,
				      .first = ADV_NO_JOB,
				      .last = ADV_NO_JOB,
				      .posting = ADV_NO_JOB,
				      .arriving = ADV_NO_JOB};
	if (!p->config.message)
		p->config.message = ADV_FABRIC_MESSAGE;
	if (!p->config.depth)
		p->config.depth = DEPTH;
	err = open_peer(f, p, f->peers);
	if (err) {
		for (unsigned i = 0; i < 2; i++)
			if (p->qp[i])
				adv_qp_destroy(p->qp[i]);
		errno = err;
		return -1;
	}
	note_hints(f, p, f->peers);
	return f->peers++;
}

const struct adv_fabric_connection *adv_fabric_get_connection(const struct adv_fabric *f,
							      uint32_t connection)
{
	return connection < f->peers ? &f->peer[connection].config : NULL;
}

uint32_t adv_fabric_rate_limit(const struct adv_fabric *f, uint32_t connection)
{
	const struct adv_fabric_peer *p = &f->peer[connection];
	struct adv_qp *sender = p->qp[p->config.operation == ADV_FABRIC_READ];

	return adv_qp_rate_limit(sender, f->now / ADV_PS_PER_NS);
}

void adv_fabric_count_received(struct adv_fabric *f)
{
	f->count_received = true;
}

uint64_t adv_fabric_received(const struct adv_fabric *f, uint32_t connection)
{
	const struct adv_fabric_peer *p = &f->peer[connection];

	return f->config.engine.selective && adv_part_has_node(f, p->config.target)
		       ? adv_qp_accepted(p->qp[1])
		       : p->received;
}

void adv_fabric_count(struct adv_fabric *f, const struct adv_fabric_host *h,
		      const struct adv_packet *p)
{
	uint32_t qpn = adv_get_be32(p->header + BTH_QPN) & ADV_QPN_MASK;
	uint32_t psn = adv_get_be32(p->header + BTH_PSN) & ADV_PSN_MASK;
	struct adv_fabric_peer *peer = adv_fabric_peer_of(f, h, qpn);

	if (!peer || psn != peer->next_psn)
		return;
	peer->next_psn = adv_psn_add(psn, 1);
	peer->received += p->payload_len;
}

/* ---- transfers ---- */

static struct adv_fabric_job new_job(uint32_t connection, uint64_t bytes)
{
	return (struct adv_fabric_job){.state = {.connection = connection,
						 .bytes = bytes,
						 .start = ADV_CALENDAR_NEVER,
						 .end = ADV_CALENDAR_NEVER},
				       .next = ADV_NO_JOB,
				       .waiters = ADV_NO_JOB};
}

/* Counts a job that was added. */
static void count_added(struct adv_fabric *f, const struct adv_fabric_job *j)
{
	struct adv_fabric *part = adv_part_numbered(f, j->part);

	if (j->state.bytes == UINT64_MAX)
		part->endless++;
	else
		part->jobs_left++;
	f->done = false;
}

/* Appends a job to the list of its connection. The caller starts the job. */
static int64_t add_job(struct adv_fabric *f, uint32_t connection, uint64_t bytes)
{
	struct adv_fabric_peer *p;
	int err = 0;

	if (connection >= f->peers || bytes == 0 || f->jobs == ADV_DUE_INDEX || is_closed(f))
		err = EINVAL;
	else if (f->peer[connection].failed)
		err = ENOTCONN;
	else if (!adv_grow(&f->job, f->jobs, &f->job_room, sizeof(*f->job)))
		err = ENOMEM;
	if (err) {
		errno = err;
		return -1;
	}
	p = &f->peer[connection];
	f->job[f->jobs] = new_job(connection, bytes);
	f->job[f->jobs].part = adv_part_number(f, p->config.initiator);
	adv_fabric_arriving(f, connection, f->jobs);
	if (p->first == ADV_NO_JOB)
		p->first = f->jobs;
	else
		f->job[p->last].next = f->jobs;
	p->last = f->jobs;
	if (p->posting == ADV_NO_JOB) {
		p->posting = f->jobs;
		p->posted = 0;
	}
	count_added(f, &f->job[f->jobs]);
	return f->jobs++;
}

int64_t adv_fabric_transfer(struct adv_fabric *f, uint32_t connection, uint64_t bytes, uint64_t at)
{
	int64_t n;

	if (at < f->now) {
		errno = EINVAL;
		return -1;
	}
	n = add_job(f, connection, bytes);
	if (n < 0)
		return -1;
	f->job[n].state.start = at;
	adv_fabric_at(f, at, ADV_DUE_START, (uint32_t)n);
	return n;
}

/* True if the jobs exist, and a job of this part can wait for them. */
static bool can_wait(const struct adv_fabric *f, uint8_t part, const uint32_t *after,
		     uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (after[i] >= f->jobs || adv_part_of_waiters(f, after[i]) != part)
			return false;
	return true;
}

/* Lets a job that was just added wait. Returns its number, or -1 with errno ENOMEM. */
static int64_t wait_for_all(struct adv_fabric *f, int64_t job, const uint32_t *after,
			    uint32_t count)
{
	int err = job < 0 ? 0 : adv_fabric_wait(f, (uint32_t)job, after, count);

	if (!err)
		return job;
	f->no_memory = true;
	errno = err;
	return -1;
}

int64_t adv_fabric_transfer_after(struct adv_fabric *f, uint32_t connection, uint64_t bytes,
				  const uint32_t *after, uint32_t count)
{
	if (connection >= f->peers ||
	    !can_wait(f, adv_part_number(f, f->peer[connection].config.initiator), after, count)) {
		errno = EINVAL;
		return -1;
	}
	return wait_for_all(f, add_job(f, connection, bytes), after, count);
}

int64_t adv_fabric_compute_after(struct adv_fabric *f, uint64_t time, const uint32_t *after,
				 uint32_t count)
{
	uint8_t part = count && after[0] < f->jobs ? adv_part_of_waiters(f, after[0]) : 0;

	if (!can_wait(f, part, after, count) || f->jobs == ADV_DUE_INDEX || is_closed(f) ||
	    time > ADV_CALENDAR_NEVER / 2) {
		errno = EINVAL;
		return -1;
	}
	if (!adv_grow(&f->job, f->jobs, &f->job_room, sizeof(*f->job))) {
		errno = ENOMEM;
		return -1;
	}
	f->job[f->jobs] = new_job(ADV_FABRIC_COMPUTATION, 0);
	f->job[f->jobs].takes = time;
	f->job[f->jobs].part = part;
	count_added(f, &f->job[f->jobs]);
	return wait_for_all(f, f->jobs++, after, count);
}

const struct adv_fabric_transfer_state *adv_fabric_get_transfer(const struct adv_fabric *f,
								uint32_t transfer)
{
	return &f->job[transfer].state;
}

uint64_t adv_fabric_acknowledged(const struct adv_fabric *f, uint32_t transfer)
{
	const struct adv_fabric_transfer_state *t = &f->job[transfer].state;
	const struct adv_fabric_peer *p;

	if (t->connection == ADV_FABRIC_COMPUTATION)
		return 0;
	if (!adv_part_has_job(f, transfer))
		return f->parts->ranks->acknowledged[transfer];
	p = &f->peer[t->connection];
	if (t->end != ADV_CALENDAR_NEVER || p->first != transfer || p->outstanding == 0)
		return t->done;
	return t->done + adv_qp_acknowledged(p->qp[0]);
}

static int post_one(struct adv_fabric *f, uint32_t index, uint32_t bytes)
{
	static const enum ibv_wr_opcode opcode[] = {[ADV_FABRIC_WRITE] = IBV_WR_RDMA_WRITE,
						    [ADV_FABRIC_SEND] = IBV_WR_SEND,
						    [ADV_FABRIC_READ] = IBV_WR_RDMA_READ};
	const struct adv_fabric_peer *p = &f->peer[index];
	const struct adv_fabric_host *from = &f->host[p->config.initiator];
	struct ibv_sge sge = {.length = bytes, .lkey = adv_mr_lkey(from->mr)};
	struct ibv_send_wr *bad;
	struct ibv_send_wr wr = {.wr_id = index,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .opcode = opcode[p->config.operation]};

	wr.wr.rdma.rkey = adv_mr_rkey(f->host[p->config.target].mr);
	return adv_qp_post_send(p->qp[0], f->now / ADV_PS_PER_NS, &wr, &bad);
}

static uint32_t next_message(const struct adv_fabric_peer *p, uint64_t bytes, uint64_t done)
{
	return bytes - done < p->config.message ? (uint32_t)(bytes - done) : p->config.message;
}

/* Posts work requests of started transfers, up to the connection's depth. */
static void post_requests(struct adv_fabric *f, uint32_t index)
{
	struct adv_fabric_peer *p = &f->peer[index];

	while (!p->failed && p->posting != ADV_NO_JOB && f->job[p->posting].started &&
	       p->outstanding < p->config.depth) {
		const struct adv_fabric_job *j = &f->job[p->posting];
		uint32_t bytes = next_message(p, j->state.bytes, p->posted);

		if (post_one(f, index, bytes)) {
			f->no_memory = true;
			return;
		}
		p->outstanding++;
		p->posted_messages++;
		p->posted += bytes;
		if (p->posted == j->state.bytes) {
			p->posting = j->next;
			p->posted = 0;
		}
	}
}

/* Counts a job that has ended. */
static void count_ended(struct adv_fabric *f, const struct adv_fabric_job *j)
{
	if (j->state.bytes == UINT64_MAX)
		f->endless--;
	else
		f->jobs_left--;
	if (f->jobs_left == 0 && f->endless == 0)
		f->done = true;
}

void adv_fabric_failed(struct adv_fabric *f, uint32_t job)
{
	/* In a divided fabric the initiator's part and that of the waiters process it. */
	if (adv_part_is(f, f->job[job].part))
		count_ended(f, &f->job[job]);
	else
		f->events--;
	if (adv_part_is(f, adv_part_of_waiters(f, job)))
		adv_fabric_release(f, job, f->job[job].state.status);
}

/* Ends a job. What waits for a WRITE or SEND that succeeds was released when the data arrived. */
static void end_job(struct adv_fabric *f, struct adv_fabric_peer *p, enum ibv_wc_status status)
{
	struct adv_fabric_job *j = &f->job[p->first];
	uint32_t number = p->first;

	j->state.end = f->now;
	j->state.status = status;
	p->first = j->next;
	if (status != IBV_WC_SUCCESS) {
		adv_fabric_at(f, f->now + ADV_FAILED_AFTER, ADV_DUE_FAILED, number);
		if (f->part)
			adv_part_cross_failure(f, number);
	} else {
		count_ended(f, j);
	}
	if (status == IBV_WC_SUCCESS && p->config.operation == ADV_FABRIC_READ)
		adv_fabric_release(f, number, status);
	adv_fabric_tell(f, &(struct adv_fabric_event){
				   .at = f->now, .kind = ADV_FABRIC_TRANSFER, .value = number});
}

/* Ends all transfers of a failed connection. The connection then posts no further request. */
static void fail_connection(struct adv_fabric *f, uint32_t index, enum ibv_wc_status status)
{
	f->peer[index].failed = true;
	while (f->peer[index].first != ADV_NO_JOB)
		end_job(f, &f->peer[index], status);
	f->peer[index].posting = ADV_NO_JOB;
}

/* Starts a computation, or ends it. */
static void compute_job(struct adv_fabric *f, uint32_t job)
{
	struct adv_fabric_job *j = &f->job[job];

	if (!j->started && !j->cancelled) {
		j->started = true;
		adv_fabric_at(f, f->now + j->takes, ADV_DUE_START, job);
		return;
	}
	j->state.end = f->now;
	j->state.status = j->cancelled ? IBV_WC_WR_FLUSH_ERR : IBV_WC_SUCCESS;
	adv_fabric_release(f, job, j->state.status);
	count_ended(f, j);
}

struct adv_fabric_host *adv_fabric_start(struct adv_fabric *f, uint32_t job)
{
	uint32_t index = f->job[job].state.connection;

	if (index == ADV_FABRIC_COMPUTATION) {
		compute_job(f, job);
		return NULL;
	}
	f->job[job].started = true;
	if (f->job[job].cancelled && !f->peer[index].failed)
		fail_connection(f, index, IBV_WC_WR_FLUSH_ERR);
	post_requests(f, index);
	return &f->host[f->peer[index].config.initiator];
}

static void on_completion(struct adv_fabric *f, const struct ibv_wc *wc)
{
	uint32_t index = (uint32_t)wc->wr_id;
	struct adv_fabric_peer *p = &f->peer[index];
	struct adv_fabric_job *j;

	if (wc->wr_id & RECV_WR) {
		if (wc->status == IBV_WC_SUCCESS && post_receive(f, index))
			f->no_memory = true;
		return;
	}
	if (p->failed)
		return;
	if (wc->status != IBV_WC_SUCCESS) {
		fail_connection(f, index, wc->status);
		return;
	}
	p->outstanding--;
	j = &f->job[p->first];
	j->state.done += next_message(p, j->state.bytes, j->state.done);
	if (j->state.done == j->state.bytes)
		end_job(f, p, IBV_WC_SUCCESS);
	post_requests(f, index);
}

void adv_fabric_completions(struct adv_fabric *f, struct adv_fabric_host *h)
{
	struct ibv_wc wc[16];
	int n;

	while ((n = adv_cq_poll(h->cq, 16, wc)) > 0)
		for (int i = 0; i < n; i++)
			on_completion(f, &wc[i]);
	assert(n == 0);
}
