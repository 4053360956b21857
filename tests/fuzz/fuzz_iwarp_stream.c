/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A stream of iWARP whose peer sends any segments. Checks that:
 * - memory changes only in the region that grants remote writing, in receive requests that are
 *   posted, and in the target of READs that are outstanding;
 * - each request completes once, and none is left when the stream has ended;
 * - nothing but whole FPDUs is sent.
 *
 * Input: steps of STEP bytes: what to do, and the fields of a segment.
 */
#include <string.h>

#include "fuzz.h"
#include "nic/iwarp/stream_internal.h"
#include "records.h"
#include "nic/queue/cq.h"
#include "nic/queue/post.h"

#define STEP	   16
#define ZONE	   256 /* bytes of each part of the memory */
#define PIECES	   256 /* of adv_rdmap_tx() in a step */
#define MOST_STEPS 200

const size_t fuzz_records_from = 1;
const size_t fuzz_record_len = STEP;

enum action {
	INJECT,	    /* a segment with a right CRC */
	INJECT_RAW, /* bytes as they are */
	POST_SEND,
	POST_WRITE,
	POST_READ,
	POST_RECV,
	TAKE, /* the connection takes bytes */
	DEREGISTER,
	END,
	ACTIONS,
};

/* The parts of the memory. */
enum zone { WRITABLE, READABLE, RECEIVES, READS, SENDS, ZONES };

static struct {
	uint8_t bytes[ZONES][ZONE];
	uint8_t before[ZONES][ZONE];
	struct adv_engine *e;
	struct adv_pd *pd;
	struct adv_cq *cq;
	struct adv_qp *qp;
	struct adv_mr *mr[ZONES];
	struct adv_rdmap_stream *stream;
	struct adv_rdmap_config config;
	uint64_t now;
	unsigned posted, completed; /* sends and receives together, all signaled */
	size_t sent;
} w;

static void make_qp(void)
{
	struct adv_qp_config c = {.type = IBV_QPT_RC,
				  .pd = w.pd,
				  .send_cq = w.cq,
				  .recv_cq = w.cq,
				  .cap = {16, 16, 2, 2, 0},
				  .sq_sig_all = true};
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT,
				.port_num = 1,
				.qp_access_flags =
					IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ};

	w.qp = adv_qp_create(w.e, &c);
	FUZZ_CHECK(w.qp != NULL);
	FUZZ_CHECK(adv_qp_modify(w.qp, 0, &a,
				 IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
					 IBV_QP_ACCESS_FLAGS) == 0);
	a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024};
	a.ah_attr.is_global = 1;
	a.ah_attr.port_num = 1;
	a.ah_attr.grh.dgid.raw[0] = 0xfd;
	FUZZ_CHECK(adv_qp_modify(w.qp, 0, &a,
				 IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
					 IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
					 IBV_QP_MIN_RNR_TIMER) == 0);
	a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS};
	FUZZ_CHECK(adv_qp_modify(w.qp, 0, &a,
				 IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
					 IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC) == 0);
}

static void open_world(uint8_t options)
{
	static const int access[ZONES] = {
		[WRITABLE] = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
		[READABLE] = IBV_ACCESS_REMOTE_READ,
		[RECEIVES] = IBV_ACCESS_LOCAL_WRITE,
		[READS] = IBV_ACCESS_LOCAL_WRITE,
	};
	const struct adv_engine_config c = {
		.seed = {1, 2, 3, 4}, .qpn_first = 0x100, .qpn_count = 8};
	struct adv_engine_gid gid = {.gid = {{0xfd, [15] = 1}}, .mtu = 4096};

	memset(&w, 0, sizeof(w));
	for (unsigned i = 0; i < ZONES; i++)
		memset(w.bytes[i], 0x50 + (int)i, ZONE);
	memcpy(w.before, w.bytes, sizeof(w.before));
	w.e = adv_engine_create(&c);
	FUZZ_CHECK(w.e != NULL && adv_engine_set_gids(w.e, &gid, 1) == 0);
	w.pd = adv_pd_create(w.e);
	w.cq = adv_cq_create(w.e, 64, NULL);
	FUZZ_CHECK(w.pd && w.cq);
	for (unsigned i = 0; i < ZONES; i++) {
		w.mr[i] = adv_mr_register(w.pd, w.bytes[i], ZONE, (uintptr_t)w.bytes[i], access[i]);
		FUZZ_CHECK(w.mr[i] != NULL);
	}
	make_qp();
	w.config = (struct adv_rdmap_config){.crc = options & 1,
					     .rx_markers = options & 2,
					     .tx_markers = options & 4,
					     .ird = options >> 3 & 3,
					     .ord = options >> 5 & 3,
					     .segment = options & 128 ? 7 : 0};
	w.stream = adv_rdmap_stream_create(w.qp, &w.config);
	FUZZ_CHECK(w.stream != NULL);
}

/* ---- what must hold ---- */

static void poll_completions(void)
{
	struct ibv_wc wc[8];
	int n;

	while ((n = adv_cq_poll(w.cq, 8, wc)) > 0)
		w.completed += (unsigned)n;
	FUZZ_CHECK(n == 0);
	FUZZ_CHECK(w.completed <= w.posted);
}

static void check_memory(void)
{
	FUZZ_CHECK(memcmp(w.bytes[READABLE], w.before[READABLE], ZONE) == 0);
	FUZZ_CHECK(memcmp(w.bytes[SENDS], w.before[SENDS], ZONE) == 0);
	/* Requests use the first half of their part. */
	FUZZ_CHECK(memcmp(w.bytes[RECEIVES] + ZONE / 2, w.before[RECEIVES] + ZONE / 2, ZONE / 2) ==
		   0);
	FUZZ_CHECK(memcmp(w.bytes[READS] + ZONE / 2, w.before[READS] + ZONE / 2, ZONE / 2) == 0);
}

/* ---- the peer ---- */

static uint32_t stag_of(uint8_t choice)
{
	if (choice < ZONES)
		return w.mr[choice] ? adv_mr_rkey(w.mr[choice]) : 0;
	return choice < 8 ? w.stream->reads_tail + choice - ZONES : choice;
}

static uint64_t to_of(uint8_t zone, uint8_t offset, uint8_t kind)
{
	if (kind & 1)
		return offset;
	return (uintptr_t)w.bytes[zone % ZONES] + (kind & 2 ? (uint64_t)-offset : offset);
}

/* Sends a segment: a right one for most fields, unless the step changes them. */
static void inject(const uint8_t *step)
{
	const struct adv_rdmap_untagged *q = &w.stream->queue[step[3] % 3];
	struct adv_ddp_header h = {
		.tagged = step[1] == ADV_RDMAP_WRITE || step[1] == ADV_RDMAP_READ_RESPONSE,
		.last = step[2] & 1,
		.ddp_version = step[2] & 2 ? step[2] >> 6 : ADV_DDP_VERSION,
		.rdmap_version = step[2] & 4 ? step[2] >> 6 : ADV_RDMAP_VERSION,
		.opcode = step[1],
		.stag = stag_of(step[4]),
		.to = to_of(step[4], step[5], step[6]),
		.invalidate_stag = stag_of(step[4]),
		.queue = step[3] < 3 ? step[3] : step[3] >> 2,
		.msn = q->msn + (step[2] & 8 ? step[7] : 0),
		.mo = q->mo + (step[2] & 16 ? step[7] : 0),
	};
	struct adv_rdmap_read_request read = {.sink_stag = step[8],
					      .sink_to = step[9],
					      .length = step[10],
					      .source_stag = stag_of(step[11]),
					      .source_to = to_of(step[11], step[12], step[13])};
	uint8_t header[ADV_DDP_HEADER_MAX], payload[ZONE] = {0};
	struct iovec pieces[] = {{header, 0}, {payload, step[14]}}, out[16];
	uint8_t markers[4][ADV_FPDU_MARKER_LEN];
	struct adv_fpdu_added added = {.markers = markers};
	static struct adv_fpdu_tx tx;
	size_t n;

	if (step[1] == ADV_RDMAP_READ_REQUEST) {
		adv_rdmap_encode_read_request(&read, payload);
		pieces[1].iov_len = step[2] & 32 ? step[14] : ADV_RDMAP_READ_REQUEST_LEN;
	} else {
		memcpy(payload, step, STEP);
	}
	pieces[0].iov_len = adv_ddp_encode(&h, header);
	adv_fpdu_tx_init(&tx, w.config.crc, w.config.rx_markers);
	tx.to_marker = w.stream->fpdu_rx.to_marker;
	n = adv_fpdu_tx_frame(&tx, pieces, 2, &added, out);
	for (size_t i = 0; i < n; i++)
		adv_rdmap_rx(w.stream, w.now, out[i].iov_base, out[i].iov_len);
}

/* ---- the program ---- */

static void post(enum ibv_wr_opcode opcode, const uint8_t *step)
{
	enum zone zone = opcode == IBV_WR_RDMA_READ ? READS : SENDS;
	struct ibv_sge sge = {(uintptr_t)w.bytes[zone], step[1] % (ZONE / 2),
			      w.mr[zone] ? adv_mr_lkey(w.mr[zone]) : 1};
	struct ibv_send_wr wr = {.opcode = opcode, .sg_list = &sge, .num_sge = 1}, *bad;

	wr.send_flags = step[2] & 1 ? IBV_SEND_FENCE : 0;
	wr.wr.rdma.rkey = step[3];
	if (adv_post_sends(w.qp, w.now, &wr, &bad) == 0)
		w.posted++;
}

static void post_recv(const uint8_t *step)
{
	struct ibv_sge sge = {(uintptr_t)w.bytes[RECEIVES], step[1] % (ZONE / 2),
			      w.mr[RECEIVES] ? adv_mr_lkey(w.mr[RECEIVES]) : 1};
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1}, *bad;

	if (adv_post_recvs(w.qp, w.now, &wr, &bad) == 0)
		w.posted++;
}

/* The connection takes at most `most` bytes. */
static void take(size_t most)
{
	struct iovec iov[PIECES];
	size_t count = adv_rdmap_tx(w.stream, w.now, iov, PIECES), len = 0;
	uint8_t sum = 0;

	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < iov[i].iov_len; k++)
			sum ^= ((const uint8_t *)iov[i].iov_base)[k];
		len += iov[i].iov_len;
	}
	w.sent += sum & 1; /* reads the bytes */
	adv_rdmap_sent(w.stream, w.now, len < most ? len : most);
}

static void deregister(uint8_t zone)
{
	if (w.mr[zone % ZONES] && adv_mr_deregister(w.mr[zone % ZONES]) == 0)
		w.mr[zone % ZONES] = NULL;
}

static void perform(const uint8_t *step)
{
	switch ((enum action)(step[0] % ACTIONS)) {
	case INJECT:
		inject(step);
		break;
	case INJECT_RAW:
		adv_rdmap_rx(w.stream, w.now, step + 1, STEP - 1);
		break;
	case POST_SEND:
		post(IBV_WR_SEND, step);
		break;
	case POST_WRITE:
		post(IBV_WR_RDMA_WRITE, step);
		break;
	case POST_READ:
		post(IBV_WR_RDMA_READ, step);
		break;
	case POST_RECV:
		post_recv(step);
		break;
	case DEREGISTER:
		deregister(step[1]);
		break;
	case END:
		adv_rdmap_ended(w.stream, w.now);
		break;
	default:
		take(step[1] ? step[1] : SIZE_MAX);
	}
}

static void close_world(void)
{
	if (adv_rdmap_phase(w.stream) == ADV_RDMAP_OPEN)
		adv_rdmap_ended(w.stream, w.now);
	take(SIZE_MAX);
	FUZZ_CHECK(adv_qp_state(w.qp) == IBV_QPS_ERR);
	poll_completions();
	FUZZ_CHECK(w.completed == w.posted);
	adv_rdmap_stream_destroy(w.stream);
	adv_engine_destroy(w.e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	open_world(*data++);
	size--;
	for (unsigned i = 0; i < MOST_STEPS && size >= STEP; i++, data += STEP, size -= STEP) {
		perform(data);
		poll_completions();
		check_memory();
		w.now += 1000;
	}
	close_world();
	return 0;
}
