// spymemcached, the asynchronous Java client: every operation it offers, in text and in binary.
// usage: java SpymemcachedTest TEXT|BINARY; the last line counts the tests.

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Future;
import net.spy.memcached.AddrUtil;
import net.spy.memcached.CASResponse;
import net.spy.memcached.CASValue;
import net.spy.memcached.ConnectionFactoryBuilder;
import net.spy.memcached.ConnectionFactoryBuilder.Protocol;
import net.spy.memcached.MemcachedClient;

public final class SpymemcachedTest {
  interface Body {
    void run(MemcachedClient client) throws Exception;
  }

  private static final List<InetSocketAddress> ADDRESSES = AddrUtil.getAddresses(System.getenv("PODCACHE_TCP"));
  private static Protocol protocol;
  private static int passed;
  private static int failed;

  public static void main(String[] arguments) {
    System.setProperty("net.spy.log.LoggerImpl", "net.spy.memcached.compat.log.SunLogger");
    java.util.logging.Logger.getLogger("net.spy").setLevel(java.util.logging.Level.OFF);
    protocol = Protocol.valueOf(arguments[0]);
    test("storage", SpymemcachedTest::storage);
    test("compare and swap", SpymemcachedTest::compareAndSwap);
    test("numbers", SpymemcachedTest::numbers);
    test("expiry", SpymemcachedTest::expiry);
    test("bulk", SpymemcachedTest::bulk);
    test("large values", SpymemcachedTest::largeValues);
    test("a pipeline of thousands", SpymemcachedTest::pipeline);
    test("statistics", SpymemcachedTest::statistics);
    test("a restart of the server", SpymemcachedTest::restart);
    System.out.println("spymemcached " + protocol + ": " + passed + " passed, " + failed + " failed");
    System.exit(failed == 0 && passed > 0 ? 0 : 1);
  }

  private static void test(String name, Body body) {
    MemcachedClient client = null;
    try {
      client = new MemcachedClient(
          new ConnectionFactoryBuilder().setProtocol(protocol).setOpTimeout(30000).setMaxReconnectDelay(1).build(), ADDRESSES);
      equal(true, client.flush().get());
      body.run(client);
      passed++;
    } catch (Throwable error) {
      failed++;
      System.out.println("FAILED: " + protocol + " " + name);
      error.printStackTrace(System.out);
    } finally {
      if (client != null) client.shutdown();
    }
  }

  private static void equal(Object want, Object got) {
    if (!Objects.deepEquals(want, got)) throw new AssertionError("want " + want + ", got " + got);
  }

  private static void storage(MemcachedClient client) throws Exception {
    equal(null, client.get("k"));
    equal(false, client.replace("k", 100, "0").get());
    equal(true, client.add("k", 100, "1").get());
    equal(false, client.add("k", 100, "2").get());
    equal(true, client.replace("k", 100, "b").get());
    equal(true, client.append("k", "c").get());
    equal(true, client.prepend("k", "a").get());
    equal("abc", client.get("k"));
    equal(false, client.append("missing", "c").get());
    equal(true, client.set("k", 100, new byte[0]).get());
    equal(new byte[0], client.get("k"));
    equal(true, client.set("k", 100, Arrays.asList(1, 2)).get());
    equal(Arrays.asList(1, 2), client.get("k"));
    equal(true, client.delete("k").get());
    equal(false, client.delete("k").get());
    equal(null, client.get("k"));
  }

  private static void compareAndSwap(MemcachedClient client) throws Exception {
    equal(null, client.gets("k"));
    equal(CASResponse.NOT_FOUND, client.cas("k", 5, "0"));
    equal(true, client.set("k", 100, "1").get());
    CASValue<Object> found = client.gets("k");
    equal("1", found.getValue());
    equal(CASResponse.OK, client.cas("k", found.getCas(), "2"));
    equal(CASResponse.EXISTS, client.cas("k", found.getCas(), "3"));
    equal(CASResponse.EXISTS, client.asyncCAS("k", found.getCas(), "3").get());
    equal("2", client.get("k"));
  }

  private static void numbers(MemcachedClient client) throws Exception {
    equal(-1L, client.incr("n", 1));
    equal(7L, client.incr("n", 1, 7L));
    equal(12L, client.incr("n", 5, 7L));
    equal(2L, client.decr("n", 10));
    equal(0L, client.decr("n", 10));
    equal(3L, client.asyncIncr("n", 3).get());
    equal(9L, client.decr("n2", 1, 9L, 100));
    equal("9", client.get("n2"));
  }

  private static void expiry(MemcachedClient client) throws Exception {
    equal(false, client.touch("k", 100).get());
    equal(true, client.set("k", 100, "v").get());
    equal(true, client.touch("k", 200).get());
    if (protocol == Protocol.BINARY) {  // Its text side has no gat.
      equal("v", client.getAndTouch("k", 300).getValue());
      equal(null, client.getAndTouch("missing", 300));
    }
    equal("v", client.get("k"));
    equal(true, client.flush().get());
    equal(null, client.get("k"));
  }

  private static void bulk(MemcachedClient client) throws Exception {
    List<String> keys = new ArrayList<>();
    List<Future<Boolean>> stored = new ArrayList<>();
    for (int number = 0; number < 2000; number++) {
      keys.add("bulk-" + number);
      stored.add(client.set("bulk-" + number, 100, number));
    }
    for (Future<Boolean> one : stored) equal(true, one.get());
    keys.add("missing");
    Map<String, Object> found = client.getBulk(keys);
    equal(2000, found.size());
    equal(1999, found.get("bulk-1999"));
    equal(2000, client.asyncGetBulk(keys).get().size());
  }

  private static void largeValues(MemcachedClient client) throws Exception {
    byte[] large = new byte[1024000];
    new java.util.Random(1).nextBytes(large);  // It would compress others.
    equal(true, client.set("large", 100, large).get());
    equal(large, client.get("large"));
    byte[] tooLarge = new byte[1048577];
    new java.util.Random(2).nextBytes(tooLarge);
    boolean stored;
    try {
      stored = client.set("large", 100, tooLarge).get();
    } catch (Exception refused) {
      stored = false;
    }
    equal(false, stored);
    equal(null, client.get("large"));
  }

  // It combines gets that wait into one multi-get, in binary a batch of GetQ closed by Noop.
  private static void pipeline(MemcachedClient client) throws Exception {
    equal(true, client.set("p0", 100, "v0").get());
    List<Future<Object>> asked = new ArrayList<>();
    for (int number = 0; number < 10000; number++) asked.add(client.asyncGet("p" + number % 3));
    for (int number = 0; number < 10000; number++) {
      equal(number % 3 == 0 ? "v0" : null, asked.get(number).get());
    }
  }

  private static void statistics(MemcachedClient client) throws Exception {
    String version = client.getVersions().values().iterator().next();
    equal(true, version.matches("\\d+\\.\\d+\\.\\d+.*"));
    equal(true, client.set("k", 100, "v").get());
    String items = "";
    long end = System.nanoTime() + 30_000_000_000L;
    while (!items.equals("1") && System.nanoTime() < end) {  // What was flushed may go a little later.
      items = client.getStats().values().iterator().next().get("curr_items");
    }
    equal("1", items);
    equal(true, client.getStats("settings").values().iterator().next().containsKey("maxbytes"));
  }

  private static void restart(MemcachedClient client) throws Exception {
    equal(true, client.set("k", 100, "v").get());
    try (Socket control = new Socket("127.0.0.1", Integer.parseInt(System.getenv("PODCACHE_CONTROL")))) {
      equal("done", new BufferedReader(new InputStreamReader(control.getInputStream())).readLine());
    }
    boolean stored = false;
    for (int attempt = 0; attempt < 100 && !stored; attempt++) {  // It reconnects in the background.
      try {
        stored = client.set("k", 100, "v2").get();
      } catch (Exception notYet) {
        Thread.sleep(100);
      }
    }
    equal(true, stored);
    equal("v2", client.get("k"));
  }
}
