/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * XRC domains, and further handles of their QPs (ibv_open_qp()).
 *
 * On hardware, processes share a domain through a file. Each process opens the domain with a
 * descriptor of the same inode, and packets for an XRC_RECV QP reach the SRQs of all these
 * processes. Here, packets reach the process and the device context that created the QP, and the
 * memory of other processes is not accessible from there. So each context has its own domain for an
 * inode. Two uses therefore fail:
 * - ibv_open_qp() of another context's QP fails with EOPNOTSUPP.
 * - A request that names an SRQ of another context gets a NAK (IBV_WC_REM_INV_REQ_ERR). Two slots
 *   never have the same SRQ number.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "abi/verbs/objects.h"

struct adv_ibv_xrc_domain {
	struct adv_list link; /* adv_ibv_context.xrc_domains */
	struct adv_xrcd *xrcd;
	unsigned handles;
	bool has_inode;
	dev_t device;
	ino_t inode;
};

static struct adv_ibv_xrc_domain *find_domain(struct adv_ibv_context *c, const struct stat *file)
{
	adv_list_for_each(struct adv_ibv_xrc_domain, d, &c->xrc_domains, link) {
		if (d->has_inode && d->device == file->st_dev && d->inode == file->st_ino)
			return d;
	}
	return NULL;
}

/* With the lock held: opens a domain. file: the inode; NULL: a domain of this handle only. NULL
 * with the kernel's errno: EINVAL if the domain exists and O_EXCL is set; EAGAIN if it does not
 * exist and O_CREAT is not set. */
static struct adv_ibv_xrc_domain *open_domain(struct adv_ibv_context *c, struct adv_engine *e,
					      const struct stat *file, int oflags)
{
	struct adv_ibv_xrc_domain *d = file ? find_domain(c, file) : NULL;

	if (d ? oflags & O_EXCL : file && !(oflags & O_CREAT)) {
		return adv_reason_no_object(d ? EINVAL : EAGAIN,
					    d ? "the file's domain exists, and oflags has O_EXCL"
					      : "the file has no domain, and oflags lacks O_CREAT");
	}
	if (d)
		return d;
	d = calloc(1, sizeof(*d));
	if (!d)
		return NULL;
	adv_engine_set_owner(e, c);
	d->xrcd = adv_xrcd_create(e);
	if (!d->xrcd) {
		free(d);
		errno = ENOMEM;
		return NULL;
	}
	if (file) {
		d->has_inode = true;
		d->device = file->st_dev;
		d->inode = file->st_ino;
	}
	adv_list_add_tail(&c->xrc_domains, &d->link);
	return d;
}

struct ibv_xrcd *adv_ibv_open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *attr)
{
	const uint32_t both = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
	struct adv_ibv_xrcd *xrcd;
	struct adv_engine *e;
	struct stat file;

	if (attr->comp_mask != both)
		return adv_ibv_refuse_object(
			adv_reason(attr->comp_mask & ~both ? EOPNOTSUPP : EINVAL,
				   "comp_mask 0x%x: it must be IBV_XRCD_INIT_ATTR_FD | "
				   "IBV_XRCD_INIT_ATTR_OFLAGS (0x%x)",
				   attr->comp_mask, both),
			"ibv_open_xrcd()");
	if (attr->fd != -1 && fstat(attr->fd, &file))
		return adv_ibv_refuse_object(
			adv_reason(errno, "fd %d is not an open file", attr->fd),
			"ibv_open_xrcd()");
	xrcd = calloc(1, sizeof(*xrcd));
	if (!xrcd)
		return NULL;
	xrcd->ibv.context = context;
	e = adv_ibv_enter(context);
	if (!e) {
		free(xrcd);
		return adv_ibv_refuse_object(ADV_EFOREIGN, "ibv_open_xrcd()");
	}
	xrcd->domain = open_domain(adv_ibv_context_of(context), e, attr->fd != -1 ? &file : NULL,
				   attr->oflags);
	if (xrcd->domain) {
		xrcd->xrcd = xrcd->domain->xrcd;
		xrcd->domain->handles++;
		adv_ibv_leave(context);
		adv_ibv_watch_created(ADV_CHECK_XRCD, &xrcd->ibv, context, NULL);
		return &xrcd->ibv;
	} else {
		int err = errno;

		adv_ibv_leave(context);
		free(xrcd);
		return adv_ibv_refuse_object(err, "ibv_open_xrcd(fd %d)", attr->fd);
	}
}

static int close_xrcd(struct ibv_xrcd *ibv)
{
	struct adv_ibv_xrcd *xrcd = adv_ibv_xrcd_of(ibv);
	struct adv_ibv_xrc_domain *d = xrcd->domain;

	if (adv_ibv_enter(ibv->context)) {
		if (xrcd->users > 0) {
			adv_ibv_leave(ibv->context);
			return adv_ibv_refuse(
				adv_reason(EBUSY,
					   "%u SRQs and queue pairs use it: destroy them first",
					   xrcd->users),
				"ibv_close_xrcd()");
		}
		/* A domain without handles has no SRQs and QPs, because each of them counts as a
		 * user of its handle. */
		if (--d->handles == 0) {
			adv_xrcd_destroy(d->xrcd);
			adv_list_del(&d->link);
			free(d);
		}
		adv_ibv_leave(ibv->context);
	}
	free(xrcd);
	return 0;
}

int adv_ibv_close_xrcd(struct ibv_xrcd *xrcd)
{
	void *watch = adv_ibv_watch_destroying(ADV_CHECK_XRCD, xrcd);
	int err = close_xrcd(xrcd);

	adv_ibv_watch_destroyed(watch, err);
	return err;
}

void adv_ibv_xrcd_forget_all(struct adv_ibv_context *c)
{
	while (!adv_list_empty(&c->xrc_domains)) {
		struct adv_list *n = c->xrc_domains.next;

		adv_list_del(n);
		free(adv_container_of(n, struct adv_ibv_xrc_domain, link));
	}
}

/* ---- opening QPs ---- */

/* Makes qp one more handle of the domain's QP with this number. 0; EINVAL: the domain has no such
 * QP; EOPNOTSUPP: the number does not belong to this context. */
static int open_handle(struct adv_ibv_qp *qp, uint32_t number)
{
	struct adv_engine *e = adv_ibv_enter(qp->ibv.context);
	struct adv_ibv_qp *first;
	struct adv_qp *found;
	int err = 0;

	if (!e)
		return ADV_EFOREIGN;
	found = adv_xrcd_find_qp(qp->xrcd->xrcd, number);
	if (found) {
		first = adv_qp_user(found);
		adv_list_add_tail(&first->shared, &qp->shared);
		qp->qp = found;
		qp->ibv.qp_num = number;
		qp->ibv.state = adv_qp_state(found);
		qp->xrcd->users++;
	} else {
		err = adv_engine_has_qpn(e, number)
			      ? adv_reason(EINVAL, "the domain has no queue pair 0x%06x", number)
			      : adv_reason(EOPNOTSUPP,
					   "queue pair 0x%06x belongs to another context or "
					   "process, which Adverb's XRC domains cannot share",
					   number);
	}
	adv_ibv_leave(qp->ibv.context);
	return err;
}

struct ibv_qp *adv_ibv_open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr)
{
	const uint32_t needed =
		IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
	struct ibv_qp_init_attr_ex init = {.qp_type = IBV_QPT_XRC_RECV, .xrcd = attr->xrcd};
	struct adv_ibv_qp *qp;
	int err;

	if (attr->comp_mask >= IBV_QP_OPEN_ATTR_RESERVED)
		return adv_ibv_refuse_object(
			adv_reason(EOPNOTSUPP, "comp_mask 0x%x has unknown bits", attr->comp_mask),
			"ibv_open_qp()");
	if ((attr->comp_mask & needed) != needed || attr->qp_type != IBV_QPT_XRC_RECV ||
	    !attr->xrcd || attr->xrcd->context != context)
		return adv_ibv_refuse_object(
			adv_reason(EINVAL, "comp_mask must have NUM, XRCD and TYPE, qp_type must "
					   "be IBV_QPT_XRC_RECV, and xrcd of this context"),
			"ibv_open_qp(qp 0x%06x)", attr->qp_num);
	if (attr->comp_mask & IBV_QP_OPEN_ATTR_CONTEXT)
		init.qp_context = attr->qp_context;
	qp = adv_ibv_qp_new(context, &init);
	if (!qp)
		return NULL;
	err = open_handle(qp, attr->qp_num);
	if (err) {
		adv_ibv_qp_free(qp);
		return adv_ibv_refuse_object(err, "ibv_open_qp(qp 0x%06x)", attr->qp_num);
	}
	adv_ibv_watch_created(ADV_CHECK_QP, &qp->ibv, context,
			      &(struct adv_check_qp_attr){.requested = &init});
	return &qp->ibv;
}
