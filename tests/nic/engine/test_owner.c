/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Several owners of one engine: the release of an owner destroys its objects and no others. */
#include "harness.h"
#include "nic/queue/mcast.h"
#include "nic/memory/mr.h"
#include "nic/memory/mw.h"
#include "nic/queue/qpn.h"

#define REGIONS 500

struct owner {
	struct adv_pd *pd;
	struct adv_cq *cq;
	struct adv_srq *srq;
	struct adv_xrcd *xrcd;
	struct adv_qp *qp[3]; /* RC, UD, XRC_RECV */
	struct adv_mr *mr[REGIONS];
	uint32_t key[REGIONS];
	struct adv_mw *window;
	uint32_t window_key;
	uint8_t memory[REGIONS];
};

static const struct adv_gid group = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 1, 2, 3}};

static void make_qps(struct adv_engine *e, struct owner *o)
{
	struct adv_qp_config c = {.type = IBV_QPT_RC,
				  .pd = o->pd,
				  .send_cq = o->cq,
				  .recv_cq = o->cq,
				  .srq = o->srq,
				  .cap = {.max_send_wr = 4, .max_send_sge = 1}};

	o->qp[0] = adv_qp_create(e, &c);
	c.type = IBV_QPT_UD;
	o->qp[1] = adv_qp_create(e, &c);
	c = (struct adv_qp_config){.type = IBV_QPT_XRC_RECV, .xrcd = o->xrcd};
	o->qp[2] = adv_qp_create(e, &c);
	assert_true(o->qp[0] && o->qp[1] && o->qp[2]);
	assert_int_equal(adv_qp_attach_mcast(o->qp[1], &group), 0);
}

static void make(struct adv_engine *e, struct owner *o)
{
	struct ibv_srq_attr attr = {.max_wr = 4, .max_sge = 1};

	adv_engine_set_owner(e, o);
	o->pd = adv_pd_create(e);
	o->cq = adv_cq_create(e, 16, NULL);
	o->xrcd = adv_xrcd_create(e);
	adv_engine_set_owner(e, NULL);
	o->srq = adv_srq_create(e, o->pd, &attr, NULL);
	assert_non_null(adv_srq_create_xrc(o->pd, o->xrcd, o->cq, &attr, NULL));
	make_qps(e, o);
	o->window = adv_mw_create(o->pd, IBV_MW_TYPE_1);
	o->window_key = adv_mw_rkey(o->window);
}

/* Registers one region of an owner. One at a time, so that the owners' keys alternate. */
static void make_region(struct owner *o, unsigned i)
{
	o->mr[i] = adv_mr_register(o->pd, &o->memory[i], 1, (uintptr_t)&o->memory[i],
				   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	assert_non_null(o->mr[i]);
	o->key[i] = adv_mr_lkey(o->mr[i]);
}

static bool has_region(const struct adv_engine *e, const struct owner *o, unsigned i)
{
	enum adv_vendor_err why;

	return adv_mr_resolve(e, o->pd, o->key[i], (uintptr_t)&o->memory[i], 1, 0, &why) ==
	       &o->memory[i];
}

static void check_whole(struct adv_engine *e, const struct owner *o)
{
	for (unsigned i = 0; i < REGIONS; i++)
		assert_true(has_region(e, o, i));
	assert_non_null(adv_mr_table_find(&e->tpt->keys, o->window_key));
	for (unsigned i = 0; i < 3; i++)
		assert_ptr_equal(adv_qp_number_find(e, adv_qp_num(o->qp[i])), o->qp[i]);
	assert_true(adv_mcast_is_member(o->qp[1]));
	assert_int_equal(adv_qp_destroy(o->qp[1]), EBUSY);
}

static void test_release(void **state)
{
	struct adv_engine_config c = {.seed = {1}, .qpn_first = 0x800, .qpn_count = 0x800};
	static struct owner owner[3];
	uint32_t qpns;
	struct adv_engine *e = adv_engine_create(&c);

	qpns = adv_engine_qpns_left(e);
	for (unsigned i = 0; i < 3; i++)
		make(e, &owner[i]);
	for (unsigned i = 0; i < 3 * REGIONS; i++)
		make_region(&owner[i % 3], i / 3);
	/* A bound window does not stop adv_engine_release() from destroying its region. */
	owner[1].mr[0]->windows++;
	owner[1].window->region = owner[1].mr[0];

	adv_engine_release(e, &owner[1]);
	check_whole(e, &owner[0]);
	check_whole(e, &owner[2]);
	assert_int_equal(adv_mcast_find(e, &group)->count, 2);
	assert_int_equal(e->tpt->keys.count, 2 * (REGIONS + 1));
	for (unsigned i = 0; i < REGIONS; i++)
		assert_null(adv_mr_table_find(&e->tpt->keys, owner[1].key[i]));
	assert_true(e->tpt->pd_count == 2 && e->cq_count == 2 && e->xrcd_count == 2);
	assert_int_equal(e->srq_count, 4);
	assert_int_equal(adv_engine_qpns_left(e), qpns - 6);

	adv_engine_release(e, &owner[1]); /* the owner has no objects any more */
	adv_engine_release(e, &owner[0]);
	check_whole(e, &owner[2]);
	adv_engine_release(e, &owner[2]);
	assert_true(e->tpt->pd_count + e->cq_count + e->srq_count + e->xrcd_count + e->xrc_used ==
		    0);
	assert_int_equal(e->tpt->keys.count, 0);
	assert_int_equal(adv_engine_qpns_left(e), qpns);
	assert_null(adv_mcast_find(e, &group));
	adv_engine_destroy(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_release)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
