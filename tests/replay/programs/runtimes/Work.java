// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two threads make garbage, and keep a little of it.
import java.util.*;

public class Work {
  public static void main(String[] arguments) throws Exception {
    long[] sums = new long[2];
    Thread[] threads = new Thread[2];
    for (int t = 0; t < 2; ++t) {
      final int self = t;
      threads[t] = new Thread(() -> {
        List<byte[]> kept = new ArrayList<>();
        for (int i = 0; i < 20000; ++i) {
          byte[] block = new byte[1000];
          block[i % 1000] = (byte) i;
          if (i % 100 == 0) kept.add(block);
          sums[self] += block[i % 1000];
        }
        sums[self] += kept.size();
      });
      threads[t].start();
    }
    for (Thread thread : threads) thread.join();
    System.gc();
    System.out.println(sums[0] + " " + sums[1]);
  }
}
