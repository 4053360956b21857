/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Arms the CQ and waits by epoll_wait(2) without a poll in between: a completion from before is not
 * announced. */
#include <sys/epoll.h>
#include <unistd.h>

#include "../lab.h"

int main(void)
{
	struct lab l = {0};
	struct ibv_comp_channel *channel;
	struct ibv_qp_init_attr attr;
	struct ibv_cq *own;
	struct epoll_event event = {.events = EPOLLIN | EPOLLET};
	struct ibv_wc wc;
	int set = epoll_create1(0);

	lab_device(&l);
	channel = ibv_create_comp_channel(l.context);
	lab_need(channel != NULL, "ibv_create_comp_channel");
	own = ibv_create_cq(l.context, LAB_CQES, NULL, channel, 0);
	lab_need(own != NULL, "ibv_create_cq");
	lab_need(!epoll_ctl(set, EPOLL_CTL_ADD, channel->fd, &event), "epoll_ctl");
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
	lab_need(epoll_wait(set, &event, 1, 300) == 0, "epoll_wait");
	close(set);
	if (!MENDED)
		lab_wait(own, 1);
	lab_need(!ibv_destroy_qp(l.a) && !ibv_destroy_qp(l.b), "ibv_destroy_qp");
	l.a = l.b = NULL;
	lab_need(!ibv_destroy_cq(own), "ibv_destroy_cq");
	lab_need(!ibv_destroy_comp_channel(channel), "ibv_destroy_comp_channel");
	lab_close(&l);
	return 0;
}
