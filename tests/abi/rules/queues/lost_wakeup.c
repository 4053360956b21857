/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Arms the CQ and waits without a poll in between: a completion from before is not announced. */
#include <poll.h>
#include <unistd.h>

#include "../lab.h"

int main(void)
{
	struct lab l = {0};
	struct ibv_comp_channel *channel;
	struct ibv_qp_init_attr attr;
	struct ibv_cq *own;
	struct pollfd fd = {.events = POLLIN};
	struct ibv_wc wc;

	lab_device(&l);
	channel = ibv_create_comp_channel(l.context);
	lab_need(channel != NULL, "ibv_create_comp_channel");
	own = ibv_create_cq(l.context, LAB_CQES, NULL, channel, 0);
	lab_need(own != NULL, "ibv_create_cq");
	lab_name("own", "cq %u", own->handle);
	attr = lab_create_attr(&l);
	attr.send_cq = own;
	l.a = ibv_create_qp(l.pd, &attr);
	l.b = ibv_create_qp(l.pd, &attr);
	lab_need(l.a && l.b, "ibv_create_qp");
	lab_connect(&l);
	lab_write(&l, l.a, 0, 64, 8192);
	usleep(100000);						   /* the WRITE completes */
	lab_need(!ibv_req_notify_cq(own, 0), "ibv_req_notify_cq"); /* finds lost-wakeup: own */
	if (MENDED)
		lab_need(ibv_poll_cq(own, 1, &wc) == 1, "ibv_poll_cq");
	fd.fd = channel->fd;
	lab_need(poll(&fd, 1, 300) == 0, "poll");
	if (!MENDED)
		lab_wait(own, 1);
	lab_need(!ibv_destroy_qp(l.a) && !ibv_destroy_qp(l.b), "ibv_destroy_qp");
	l.a = l.b = NULL;
	lab_need(!ibv_destroy_cq(own), "ibv_destroy_cq");
	lab_need(!ibv_destroy_comp_channel(channel), "ibv_destroy_comp_channel");
	lab_close(&l);
	return 0;
}
