/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Writes into the buffer of an unsignaled UD request before the peer's answer to it has come. The
 * mended twin writes after the answer, which shows that the request was sent, and has no completion
 * of the request either. */
#include "../lab.h"

static void send_unsignaled(const struct lab *l, struct ibv_qp *from, const struct ibv_qp *to,
			    struct ibv_ah *ah, size_t at)
{
	struct ibv_sge sge = lab_sge(l, at, 64);
	struct ibv_send_wr wr = lab_wr(IBV_WR_SEND, &sge);

	wr.send_flags = 0;
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = to->qp_num;
	wr.wr.ud.remote_qkey = LAB_QKEY;
	lab_post((struct ibv_qp *)from, &wr); /* finds send-buffer-changed: a */
}

int main(void)
{
	struct ibv_send_wr wr;
	struct lab l = {0};
	struct ibv_sge sge;
	struct ibv_ah *ah;

	lab_open_ud(&l);
	ah = lab_ah(&l);
	lab_recv(&l, l.b, 4096, 256);
	lab_recv(&l, l.a, 8192, 256);
	send_unsignaled(&l, l.a, l.b, ah, 0);
	if (!MENDED)
		l.buffer[5] = 'x';
	lab_wait(l.cq, 1);
	send_unsignaled(&l, l.b, l.a, ah, 1024);
	lab_wait(l.cq, 1);
	l.buffer[6] = 'x';
	/* A signaled request ends the first one too. */
	lab_recv(&l, l.b, 4096, 256);
	sge = lab_sge(&l, 2048, 64);
	wr = lab_wr(IBV_WR_SEND, &sge);
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = l.b->qp_num;
	wr.wr.ud.remote_qkey = LAB_QKEY;
	lab_post(l.a, &wr);
	lab_wait(l.cq, 2);
	lab_need(!ibv_destroy_ah(ah), "ibv_destroy_ah");
	lab_close(&l);
	return 0;
}
